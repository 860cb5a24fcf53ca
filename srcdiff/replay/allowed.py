"""The names that replayable functions may use, and what they meant when srcdiff was imported.

All of them give values that depend on their arguments alone. A listed name that means something else by now (a function
of NumPy that was replaced, a builtin that was) is not the listed function: see `ORIGINALS`.
"""

from __future__ import annotations

import builtins
import functools
import itertools
import math
import operator
from types import ModuleType
from typing import Any, Final

import numpy as np

MODULES: Final[list[ModuleType]] = [np, np.linalg, math, functools, itertools, operator]

_ELEMENTWISE = """
    abs absolute add arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt ceil clip conj conjugate copysign cos
    cosh deg2rad degrees divide equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod greater
    greater_equal heaviside hypot isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logaddexp2
    logical_and logical_not logical_or logical_xor maximum minimum mod multiply negative not_equal positive power
    rad2deg radians reciprocal remainder rint sign sin sinc sinh sqrt square subtract tan tanh true_divide trunc where
    nan_to_num real imag
"""
_REDUCTIONS = """
    sum mean prod max min amax amin var std ptp cumsum cumprod argmax argmin average trapezoid diff nansum norm
"""
_SHAPES = """
    reshape ravel transpose swapaxes moveaxis squeeze expand_dims broadcast_to concatenate stack hstack vstack dstack
    column_stack flip flipud fliplr roll tile repeat pad split array_split hsplit vsplit atleast_1d
    atleast_2d atleast_3d flatten copy astype T mT shape ndim size dtype rot90 triu tril diag diagonal trace
"""
_PRODUCTS = """
    dot vdot inner outer matmul tensordot einsum kron cross linalg inv pinv solve det slogdet cholesky eigh eigvalsh
    svd qr
"""
_CREATION = """
    zeros ones full eye identity arange linspace empty zeros_like ones_like full_like empty_like array float32 float64
    int32 int64 intp bool_ newaxis pi e inf nan kind name itemsize
"""
_MORE = """
    any all take take_along_axis median quantile percentile argsort count_nonzero isclose allclose array_equal select
    interp searchsorted digitize nonzero flatnonzero round around fix meshgrid indices block broadcast_arrays logspace
    geomspace vander convolve correlate polyval nanmax nanmin nanmean cov corrcoef matrix_power multi_dot vecdot
    isscalar result_type clip rollaxis delete compress tri unique bincount lexsort triu_indices tril_indices diagflat
    diag_indices bitwise_and bitwise_or bitwise_xor invert cumulative_sum gradient cond matrix_rank lstsq eigvals eig
    uint8 int8 int16 float16 complex128 complex64 asarray asanyarray ascontiguousarray conjugate item tolist
    ndarray generic number integer floating inexact
"""
_TRANSFORMS = "grad value_and_grad"
_TORCH = """
    CrossEntropyLoss MSELoss L1Loss NLLLoss BCELoss BCEWithLogitsLoss SmoothL1Loss HuberLoss KLDivLoss long int bool
    unsqueeze permute view mm bmm mv addmm matmul t relu sigmoid softmax log_softmax logsumexp softplus gelu silu
    elu selu leaky_relu relu6 hardtanh hardsigmoid hardswish mish softsign tanhshrink logsigmoid glu celu linear
    bilinear conv1d conv2d conv3d max_pool1d max_pool2d avg_pool1d avg_pool2d adaptive_avg_pool2d layer_norm
    group_norm rms_norm batch_norm instance_norm embedding dropout dropout1d dropout2d mse_loss l1_loss
    smooth_l1_loss huber_loss nll_loss cross_entropy binary_cross_entropy binary_cross_entropy_with_logits kl_div
    poisson_nll_loss gaussian_nll_loss cosine_similarity normalize pad functional nn chunk cat size numel dim rsqrt
    device erf erfc lgamma digamma expit clamp clamp_min clamp_max lerp addcmul addcdiv outer narrow select index_select
    gather expand expand_as view_as reshape_as unflatten float double half rand randn rand_like randn_like randint
    randperm bernoulli masked_fill masked_select one_hot scatter scatter_add index_add index_copy index_fill
    scatter_reduce topk unfold to type_as new_zeros new_ones new_full tensor as_tensor mul sub div neg eq ne lt le
    gt ge nelement unbind movedim swapdims repeat_interleave cdist logdet pairwise_distance triplet_margin_loss
    margin_ranking_loss cosine_embedding_loss hinge_embedding_loss cartesian_prod fft ifft rfft irfft fft2 ifft2
    fftshift ifftshift softmin threshold var_mean std_mean baddbmm addmv addr contiguous take_along_dim cummax
    cummin logcumsumexp msort dist frac sgn signbit atan2 xlogy logit erfinv trapz tensor_split narrow_copy adjoint
    atan asin acos
"""
_TOOLS = "partial reduce accumulate chain product islice repeat starmap pairwise itemgetter truediv matmul pow"
_CHANGES = """
    append extend insert pop reverse setdefault update clear remove add popitem sort appendleft popleft extendleft
    rotate move_to_end discard difference_update intersection_update symmetric_difference_update send at
"""
_CONTAINERS = f"""
    items keys values index count get union intersection difference symmetric_difference issubset issuperset isdisjoint
    fromkeys most_common elements total maxlen from_iterable flat args value {_CHANGES}
"""
_TEXTS = """
    lower upper strip lstrip rstrip startswith endswith join format replace title capitalize isdigit isalpha isalnum
    isidentifier isnumeric islower isupper zfill ljust rjust center rsplit splitlines find removeprefix removesuffix
    encode decode is_integer bit_length eps tiny smallest_normal resolution bits multi_index
"""
_DISTRIBUTIONS = "pdf logpdf pmf logpmf cdf logcdf sf logsf ppf isf entropy"

MUTATORS: Final = frozenset([*_CHANGES.split(), "fill"])
ATTRIBUTES: Final = frozenset(
    " ".join(
        (
            _ELEMENTWISE,
            _REDUCTIONS,
            _SHAPES,
            _PRODUCTS,
            _MORE,
            _CREATION,
            _CONTAINERS,
            _TOOLS,
            _TRANSFORMS,
            _TORCH,
            _TEXTS,
            _DISTRIBUTIONS,
        )
    ).split()
) - {"sort"}
#: what a training step may use besides: srcdiff's own effects
STEPS: Final = frozenset(
    """backward grad step zero_grad train eval no_grad enable_grad set_grad_enabled detach data requires_grad
    requires_grad_ is_leaf parameters named_parameters modules children named_modules named_children training utils
    clip_grad_norm_ clip_grad_value_ optim add_ sub_ mul_ div_ zero_ fill_ copy_ addcmul_ addcdiv_ lerp_ clamp_
    clone scatter_ scatter_add_ masked_fill_ index_fill_ index_add_ index_copy_ pow_ abs_ exp_ log_ sqrt_ neg_ relu_
    tanh_ sigmoid_ round_ floor_ ceil_ clamp_min_ clamp_max_ square_ reciprocal_ sign_
    """.split()
)
_ERRORS = [name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, Exception)]
BUILTINS: Final = frozenset(
    f"""range len zip enumerate reversed sum min max abs sorted map filter list tuple dict set any all slice round pow
    divmod float int bool isinstance type frozenset str repr next iter callable getattr hasattr super True False None
    {" ".join(_ERRORS)}
    """.split()
)

#: Instructions that read and write local names, call, branch, build containers, and catch exceptions. What a version of
#: CPython adds is not among them until it has been looked at: imports, classes and everything that writes a name
#: outside the function are left out on purpose.
INSTRUCTIONS: Final = frozenset(
    """
    BEFORE_WITH BINARY_OP BINARY_SLICE BINARY_SUBSCR BUILD_CONST_KEY_MAP BUILD_LIST BUILD_MAP BUILD_SET BUILD_SLICE
    BUILD_STRING BUILD_TUPLE CACHE CALL CALL_FUNCTION_EX CALL_INTRINSIC_1 CALL_KW CHECK_EXC_MATCH CLEANUP_THROW
    COMPARE_OP CONTAINS_OP CONVERT_VALUE COPY COPY_FREE_VARS DELETE_FAST DELETE_SUBSCR DICT_MERGE DICT_UPDATE END_FOR
    END_SEND EXTENDED_ARG FORMAT_SIMPLE FORMAT_VALUE FORMAT_WITH_SPEC FOR_ITER GET_ITER GET_LEN GET_YIELD_FROM_ITER
    IMPORT_FROM JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT JUMP_FORWARD JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP KW_NAMES
    LIST_APPEND LIST_EXTEND LIST_TO_TUPLE LOAD_ASSERTION_ERROR LOAD_ATTR LOAD_CLOSURE LOAD_CONST LOAD_DEREF LOAD_FAST
    LOAD_FAST_AND_CLEAR LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_GLOBAL LOAD_METHOD LOAD_SUPER_ATTR MAKE_CELL
    MAKE_FUNCTION MAP_ADD MATCH_KEYS MATCH_MAPPING MATCH_SEQUENCE NOP POP_EXCEPT POP_JUMP_BACKWARD_IF_FALSE
    POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_TRUE POP_JUMP_FORWARD_IF_FALSE
    POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_FORWARD_IF_TRUE POP_JUMP_IF_FALSE POP_JUMP_IF_NONE
    POP_JUMP_IF_NOT_NONE POP_JUMP_IF_TRUE POP_TOP PRECALL PUSH_EXC_INFO PUSH_NULL RAISE_VARARGS RERAISE RESUME
    RETURN_CONST RETURN_GENERATOR RETURN_VALUE SEND SET_ADD SET_FUNCTION_ATTRIBUTE SET_UPDATE STORE_DEREF STORE_FAST
    STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_SLICE STORE_SUBSCR SWAP TO_BOOL UNARY_INVERT UNARY_NEGATIVE
    UNARY_NOT UNARY_POSITIVE UNPACK_EX UNPACK_SEQUENCE WITH_EXCEPT_START YIELD_VALUE
    """.split()
)
#: of `CALL_INTRINSIC_1`: the end of a generator, unary plus, a tuple of a list
INTRINSICS: Final = frozenset((3, 5, 6))


def _listed(module: ModuleType, names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name in names}


#: module -> listed name -> what it is
ORIGINALS: Final = {module.__name__: _listed(module, ATTRIBUTES | MUTATORS) for module in MODULES}


def enter(module: ModuleType) -> None:
    """Allow the listed names of a module whose functions are NumPy's for Tensors, as `srcdiff.numpy` is."""
    MODULES.append(module)
    ORIGINALS[module.__name__] = _listed(module, ATTRIBUTES | MUTATORS)


ORIGINAL_BUILTINS: Final = _listed(builtins, BUILTINS)
#: types of NumPy's numbers; subclasses of them may do anything
SCALAR_TYPES: Final = frozenset(np.dtype(code).type for code in "?bhilqBHILQefdgFDG")
