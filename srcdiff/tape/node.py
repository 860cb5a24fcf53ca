"""The tape: one `GradNode` per recorded operation, which is also what users see as `grad_fn`.

Guarantees: a node holds its inputs' nodes and its saved values, nothing holds a node but its results and its users;
nodes are immutable but for `saved` (dropped by backward) and `site` (swapped for a `MarkedSite` by hooks and the like,
so that the matchers' one identity check sees it).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any
from weakref import ref

from srcdiff.core.primitive import Operand
from srcdiff.errors import AutogradError
from srcdiff.origin import where
from srcdiff.tape.site import OUT, STATIC, VARYING, Site
from srcdiff.tape.storage import Cell

next_seq = count(1).__next__

FREED_MESSAGE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)

#: An edge of the graph: a node, or (node, k) for output k > 0 of a node with several outputs, or None.
Edge = Any


class GradNode:
    """One recorded operation. `saved` is None once freed."""

    __slots__ = ("__weakref__", "extra", "inputs", "saved", "seq", "site")

    site: Any
    inputs: tuple[Edge, ...]
    saved: tuple[Any, ...] | None
    seq: int
    #: set at leaves; at operations, which are too many, once there is something
    extra: Extra | None
    #: the backward of a function of the user's; None for recorded primitives
    apply: Callable[..., list[Any]] | None = None

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """The nodes this one passes gradients on to, each with the output it feeds."""
        kinds = self.site.kinds
        return tuple(
            edge if type(edge) is tuple else (edge, 0)
            for k, edge in enumerate(self.inputs)
            if k >= len(kinds) or kinds[k] not in (STATIC, VARYING)
        )

    @property
    def several(self) -> bool:
        """Whether edges to this node say which output they mean."""
        return getattr(self.site.prim, "multi", False) is True

    @property
    def outputs(self) -> int:
        """How many outputs the operation has."""
        return len(self.site.out_aval) if self.several else 1

    def name(self) -> str:
        """The class name, as PyTorch gives it."""
        return type(self).__name__

    @property
    def options(self) -> Extra:
        """The rarely used parts, made on first use."""
        found: Extra | None = getattr(self, "extra", None)
        if found is None:
            found = self.extra = Extra()
        return found

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict of the user's own."""
        return self.options.metadata

    @property
    def source(self) -> str:
        """The generated code of this operation's backward."""
        return _source_of[0](self)

    def mark(self) -> None:
        """Make compiled backwards step aside for this node."""
        if type(self.site) is not MarkedSite:
            self.site = MarkedSite(self.site)

    def register_hook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(grad_inputs, grad_outputs)` after this node has run; a returned tuple replaces grad_inputs."""
        self.mark()
        return Handle(self.options.post_hooks, hook)

    def register_prehook(self, hook: Callable[..., Any]) -> Handle:
        """Call `hook(grad_outputs)` before this node runs; a returned tuple replaces them."""
        self.mark()
        return Handle(self.options.pre_hooks, hook)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def __getattr__(self, name: str) -> Any:
        if name == "extra":
            raise AttributeError(name)
        if name.startswith("_saved_"):
            return saved_attribute(self, name[len("_saved_") :])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class Extra:
    """What only few nodes have."""

    __slots__ = ("metadata", "post_accumulate", "post_hooks", "pre_hooks", "retain", "tensor_hooks", "trace")

    def __init__(self) -> None:
        self.metadata: dict[Any, Any] = {}
        self.pre_hooks: dict[int, Callable[..., Any]] = {}
        self.post_hooks: dict[int, Callable[..., Any]] = {}
        #: output number -> hooks on the tensor
        self.tensor_hooks: dict[int, dict[int, Callable[..., Any]]] = {}
        #: output number -> weak reference to the tensor whose .grad is to be kept
        self.retain: dict[int, Any] = {}
        self.post_accumulate: dict[int, Callable[..., Any]] = {}
        self.trace: str = ""


class Handle:
    """What registering a hook returns; `remove()` takes the hook off again."""

    _ids = count()

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self.id = next(Handle._ids)
        hooks[self.id] = hook

    def remove(self) -> None:
        """Take the hook off; more than once is fine."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Handle:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.remove()


class MarkedSite:
    """Stands in for a node's Site where something out of the ordinary must happen; everything else is the Site's."""

    __slots__ = ("site",)

    def __init__(self, site: Site) -> None:
        self.site = site

    def __getattr__(self, name: str) -> Any:
        return getattr(self.site, name)


class LeafSite:
    """The site of all leaves."""

    __slots__ = ()
    kinds: tuple[str, ...] = ()
    save_list: tuple[int, ...] = ()
    keeps = False
    prim = None
    executables: tuple[Any, ...] = ()
    tangents: tuple[Any, ...] = ()

    def place(self) -> None:
        """No operation made them."""


LEAF = LeafSite()


class AccumulateGrad(GradNode):
    """The end of the graph at a leaf: adds what arrives to `variable.grad`.

    The leaf holds this node, and this node the leaf's state, but not the leaf: no cycle. If the leaf is gone while the
    graph lives, `variable` is a new Tensor with the same state.
    """

    __slots__ = ("cls", "reference", "state")

    def __init__(self, variable: Any) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()
        self.seq = 0
        self.extra = None
        self.cls = type(variable)
        self.state = variable.__dict__
        self.reference = ref(variable)

    @property
    def variable(self) -> Any:
        """The leaf."""
        found = self.reference()
        if found is None:
            found = object.__new__(self.cls)
            found.__dict__ = self.state
            found._edge = self
            self.reference = ref(found)
        return found

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """Nothing follows a leaf."""
        return ()


class InputNode(GradNode):
    """The end of the graph at an argument of a function under `sd.grad`. `label` says which argument."""

    __slots__ = ("label",)

    def __init__(self, label: Any) -> None:
        self.site = LEAF
        self.inputs = ()
        self.saved = ()
        self.seq = next_seq()
        self.label = label

    @property
    def next_functions(self) -> tuple[tuple[GradNode | None, int], ...]:
        """Nothing follows an argument."""
        return ()


#: set by the layer that can generate code
_source_of: list[Callable[[GradNode], str]] = []


def set_source_of(function: Callable[[GradNode], str]) -> None:
    """Say how the code of one node is generated."""
    _source_of[:] = [function]


_classes: dict[str, type[GradNode]] = {}


def node_class(label: str) -> type[GradNode]:
    """The class of nodes of one operation: `AddBackward0` for "Add"; names with a dot or ending in * are literal."""
    found = _classes.get(label)
    if found is None:
        name = label[1:] if label.startswith("=") else f"{label}Backward0"
        found = _classes.setdefault(label, type(name, (GradNode,), {"__slots__": (), "__module__": "srcdiff"}))
    return found


def saved_value(node: GradNode, position: int) -> Any:
    """The saved array at a position of `node.saved`; raises PyTorch's errors if it was freed or overwritten."""
    saved = node.saved
    if saved is None:
        raise AutogradError(FREED_MESSAGE)
    value = saved[position]
    if type(value) is not Cell:
        return value.unpack() if type(value) is Packed else value
    try:
        return value.array
    except AttributeError:
        raise AutogradError(stale_message(node, value)) from None


class Packed:
    """A saved value in the keeping of `saved_tensors_hooks`."""

    __slots__ = ("packed", "unpack_hook")

    def __init__(self, packed: Any, unpack_hook: Callable[[Any], Any]) -> None:
        self.packed = packed
        self.unpack_hook = unpack_hook

    def unpack(self) -> Any:
        """The array again."""
        value: Any = self.unpack_hook(self.packed)
        tensor = isinstance(value, Operand)
        return value._value if tensor else value


def stale_message(node: GradNode, cell: Cell) -> str:
    """PyTorch's text for a saved value that was overwritten, with the places of the write and of the save."""
    text = (
        "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor "
        f"saved by {node.name()} is at version {cell.storage.version}; expected version {cell.version} instead."
    )
    if getattr(cell, "written", None) is not None:
        text += f" It was written at {where(*cell.written)}"
        place = node.site.place()
        text += f", after being saved at {where(*place)}." if place else "."
    return text


def saved_attribute(node: GradNode, name: str) -> Any:
    """`_saved_self`, `_saved_other`, `_saved_exponent`, `_saved_result`: what PyTorch lets users look at."""
    site = node.site
    if site.prim is None:
        raise AttributeError(name)
    if node.saved is None:
        raise AutogradError(FREED_MESSAGE)
    names = {"result": OUT, "self": 0, "other": 1, "exponent": 1, "input": 0}
    names |= {argument: k for k, argument in enumerate(site.prim.args)}
    k = names.get(name, site.params.get(name, None) if name not in names else None)
    if name in site.params:
        return site.params[name]
    if k is None:
        raise AttributeError(f"{node.name()} saves nothing called {name}")
    if k != OUT and k < len(site.kinds) and site.kinds[k] is STATIC:
        return site.values[k]
    if k not in site.save_list:
        raise AttributeError(f"{node.name()} does not save {name}")
    return saved_value(node, site.save_list.index(k))
