"""Random modules with a function to differentiate, written as source text.

A module has a function `f(x, y, k=2, flag=False)` of two arrays, a number and a flag, constants, arrays and helpers that
it reads from outside, and sometimes an effect.
"""
# ruff: noqa: E501 - a line of a program is a line here

from __future__ import annotations

import random

from tests.replay.patterns import BINARY, EFFECTS, HEAD, TAIL, TO_SCALAR, TO_VECTOR, UNARY


class Writer:
    """One random function, line by line."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.vectors = ["x", "y"]
        self.scalars: list[str] = []
        self.count = 0
        #: how deep the last block is, and how many blocks may be inside each other
        self.budget = 3

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def fill(self, pattern: str, *values: str) -> str:
        """The pattern with values in its holes, taken in turn."""
        holes = pattern.count("{}")
        return pattern.format(*(values[i % len(values)] for i in range(holes)))

    def vector(self) -> str:
        return self.random.choice(self.vectors)

    def scalar(self) -> str:
        if not self.scalars or self.random.random() < 0.4:
            return self.fill(self.random.choice(TO_SCALAR), self.vector(), self.vector())
        return self.random.choice(self.scalars)

    def number(self) -> str:
        return self.random.choice(
            [
                "G",
                "K",
                "0.5",
                "2",
                "-1.0",
                "T[1]",
                "len(x)",
                "x.shape[0]",
                "k",
                "math.pi",
                "1",
                "float(K)",
                "THING.b",
                "THING.twice",
                "LIST[-1]",
                "TABLE['a']",
                "len(LIST)",
                "int(np.argmax(x))",
                "sum(LIST)",
            ]
        )

    def expression(self) -> str:
        """An expression of the shape of x."""
        r = self.random.random()
        if r < 0.4:
            return self.fill(self.random.choice(UNARY), f"{self.vector()}")
        if r < 0.65:
            return self.fill(
                self.random.choice(BINARY),
                self.vector(),
                self.random.choice([self.vector(), self.scalar(), self.number()]),
            )
        return self.fill(self.random.choice(TO_VECTOR), self.vector())

    def condition(self) -> str:
        r = self.random
        return r.choice([
            f"{self.scalar()} > {r.choice(['0.0', '0.3', 'G'])}",
            f"-1.0 < {self.scalar()} < 1.0",
            f"{self.scalar()} > 0 and {self.scalar()} < 2.0",
            f"not {self.scalar()} < 0.2",
            "flag", "flag or K > 2", "k == 2", "MODE == 'plain'", f"np.any({self.vector()} > 1.0)", f"np.all({self.vector()} < 2.0)",
            f"{self.vector()}[1] > {self.vector()}[2]", "len(x) > 3", "x.ndim == 1", "isinstance(k, int)", "y is None", "k in (2, 3)",
            "x.dtype == np.float64", "THING", "THING.b > 1.0", "'a' in TABLE", "k * 1.5 > 2.0", f"any(q > 1.0 for q in {self.vector()})", f"bool({self.scalar()} > 0.1)",
        ])  # fmt: skip

    def add(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def block(self, depth: int, statements: int) -> None:
        """Statements whose names are not used after them."""
        vectors, scalars = list(self.vectors), list(self.scalars)
        for _ in range(statements):
            self.statement(depth)
        self.vectors, self.scalars = vectors, scalars

    def statement(self, depth: int) -> None:
        r = self.random
        kind = r.choice(self.KINDS) if depth <= self.budget else "vector"
        getattr(self, f"do_{kind}")(depth)

    KINDS = (
        *("vector scalar augmented write view_write fresh_write branch loop".split() * 3),
        *(
            "whiles containers inner lambdas comprehension generator unpack record partial match recursion mask early".split()
        ),
        *("ternary walrus constant deletion star nested_grad assertion raising effect_free dictionary scatter".split()),
    )

    def do_vector(self, depth: int) -> None:
        name = self.name("v")
        self.add(depth, f"{name} = {self.expression()}")
        self.vectors.append(name)

    def do_scalar(self, depth: int) -> None:
        name = self.name("s")
        self.add(depth, f"{name} = {self.scalar()} * {self.number()}")
        self.scalars.append(name)

    def do_augmented(self, depth: int) -> None:
        name, value = self.name("v"), self.expression()
        self.add(depth, f"{name} = {self.vector()} * 1.5")
        self.add(
            depth,
            f"{name} {self.random.choice(['+=', '-=', '*=', '/='])} {value if self.random.random() < 0.6 else self.number()}",
        )
        self.vectors.append(name)

    def do_write(self, depth: int) -> None:
        name = self.name("v")
        self.add(depth, f"{name} = {self.vector()} * 1.0")
        place = self.random.choice(
            ["[1]", "[-1]", "[1:3]", "[::2]", "[[0, 2]]", "[...]", "[K]", "[:]", f"[{self.vector()} > 0.5]", "[k]"]
        )
        for _ in range(self.random.choice([1, 1, 2])):
            value = self.random.choice([self.scalar(), "0.0", "G", self.scalar()])
            self.add(depth, f"{name}{place} {self.random.choice(['=', '=', '+=', '*='])} {value}")
        self.vectors.append(name)

    def do_view_write(self, depth: int) -> None:
        name, view = self.name("v"), self.name("w")
        self.add(depth, f"{name} = {self.expression()} + 0.5")
        self.add(depth, f"{view} = {name}{self.random.choice(['[1:]', '[::-1]', '[:3]', '.reshape(2, 2)', '.T'])}")
        self.add(
            depth,
            f"{view} {self.random.choice(['*=', '+='])} {self.random.choice(['2.0', 'G', f'np.sum({name})', '0.5'])}",
        )
        if self.random.random() < 0.5:
            self.add(depth, f"{view}[0] = {self.random.choice([self.scalar(), '1.0'])}")
        if self.random.random() < 0.3:
            self.add(depth, f"{name}[1] = {self.scalar()}")
        self.vectors.append(name)

    def do_fresh_write(self, depth: int) -> None:
        name = self.name("v")
        maker = self.random.choice(
            ["np.zeros_like(x)", "np.zeros(4)", "np.empty_like(x)", "np.ones(len(x))", "np.zeros(x.shape)"]
        )
        self.add(depth, f"{name} = {maker}")
        self.add(depth, "for i in range(len(x)):")
        self.add(depth + 1, f"{name}[i] = {self.vector()}[i] * {self.random.choice(['i', 'G', 'np.cos(i)', '0.5'])}")
        self.vectors.append(name)

    def do_branch(self, depth: int) -> None:
        name = self.name("v")
        self.add(depth, f"{name} = {self.vector()}")
        self.add(depth, f"if {self.condition()}:")
        self.add(depth + 1, f"{name} = {self.expression()}")
        self.block(depth + 1, self.random.choice([0, 1]))
        if self.random.random() < 0.5:
            self.add(depth, f"elif {self.condition()}:")
            self.add(depth + 1, f"{name} = {self.expression()}")
        if self.random.random() < 0.6:
            self.add(depth, "else:")
            self.add(depth + 1, f"{name} = {self.expression()}")
        self.vectors.append(name)

    def do_loop(self, depth: int) -> None:
        r, name = self.random, self.name("v")
        self.add(depth, f"{name} = {self.vector()} * 1.0")
        self.add(depth, r.choice([
            "for i in range(K):", "for i in range(1, 4):", f"for i, q in enumerate({self.vector()}):", f"for i, q in zip(range(3), {self.vector()}):",
            "for i in (1, 2):", "for i in T[:2]:", "for i in A[:2]:", "for i in np.arange(3):",
        ]))  # fmt: skip
        self.add(
            depth + 1, f"{name} = {self.fill(r.choice(UNARY), name)} * 0.5 + {r.choice(['i', self.vector(), 'G'])}"
        )
        self.block(depth + 1, r.choice([0, 0, 1]))
        if r.random() < 0.3:
            self.add(depth + 1, f"if {self.condition()}:")
            self.add(depth + 2, r.choice(["break", "continue"]))
        self.vectors.append(name)

    def do_whiles(self, depth: int) -> None:
        name, turn = self.name("s"), self.name("n")
        self.add(depth, f"{name} = np.abs({self.scalar()}) + 0.5")
        self.add(depth, f"{turn} = 0")
        self.add(depth, f"while {name} > 1.0 and {turn} < 6:")
        self.add(depth + 1, f"{name} = {name} * {self.random.choice(['0.5', '0.7', '0.3'])}")
        self.add(depth + 1, f"{turn} += 1")
        self.scalars.append(name)

    def do_containers(self, depth: int) -> None:
        name = self.name("c")
        self.add(depth, f"{name} = [{self.vector()}, {self.expression()}]")
        self.add(depth, f"{name}.append({self.expression()})")
        self.add(depth, f"{name}[0] = {name}[-1] + {name}.pop(1)")
        out = self.name("v")
        self.add(
            depth,
            f"{out} = {self.random.choice([f'{name}[0]', f'sum({name})', f'np.stack({name}).sum(axis=0)', f'np.mean({name}, axis=0)'])}",
        )
        self.vectors.append(out)

    def do_dictionary(self, depth: int) -> None:
        name, out = self.name("d"), self.name("v")
        self.add(depth, f"{name} = dict(a={self.vector()}, b={self.expression()})")
        self.add(depth, f"{name}['c'] = {name}['a'] * {name}.get('z', 2.0)")
        self.add(depth, f"{out} = sum(v * (i + 1) for i, (key, v) in enumerate({name}.items()) if key != 'b')")
        self.vectors.append(out)

    def do_inner(self, depth: int) -> None:
        name, out = self.name("g"), self.name("v")
        captured = self.vector()
        self.add(depth, f"def {name}(a, b={self.random.choice(['2.0', 'G', captured])}):")
        self.add(depth + 1, f"return a * b + {captured}")
        self.add(depth, f"{out} = {name}({self.vector()}) + {name}({self.vector()}, b=0.5)")
        self.vectors.append(out)

    def do_lambdas(self, depth: int) -> None:
        name, out = self.name("fs"), self.name("v")
        self.add(depth, f"{name} = [lambda a{self.random.choice(['', ', i=i'])}: a * (i + 1) for i in range(3)]")
        self.add(depth, f"{out} = {name}[0]({self.vector()}) + {name}[2]({self.vector()})")
        self.vectors.append(out)

    def do_comprehension(self, depth: int) -> None:
        out = self.name("v")
        self.add(
            depth,
            f"{out} = np.stack([a * i for i, a in enumerate({self.vector()}) {self.random.choice(['', 'if i >= 0'])}])",
        )
        self.vectors.append(out)

    def do_generator(self, depth: int) -> None:
        name, out = self.name("gen"), self.name("s")
        self.add(depth, f"def {name}(a):")
        self.add(depth + 1, "for q in a:")
        self.add(depth + 2, "yield q * G")
        self.add(depth, f"{out} = sum({name}({self.vector()}))")
        self.scalars.append(out)

    def do_unpack(self, depth: int) -> None:
        a, b, c = self.name("s"), self.name("s"), self.name("c")
        self.add(depth, f"{a}, *{c}, {b} = {self.vector()}")
        self.add(depth, f"{a}, {b} = {b}, {a} + {c}[0]")
        self.scalars += [a, b]

    def do_record(self, depth: int) -> None:
        name, out = self.name("p"), self.name("v")
        self.add(depth, f"{name} = Pair({self.vector()}, second={self.expression()})")
        self.add(
            depth,
            f"{name} = {name}._replace(first={name}.second * 2)"
            if self.random.random() < 0.3
            else f"{name} = Pair(*{name})",
        )
        self.add(depth, f"{out} = {name}.first - {name}[1]")
        self.vectors.append(out)

    def do_partial(self, depth: int) -> None:
        name, out = self.name("part"), self.name("v")
        self.add(depth, f"{name} = functools.partial(helper, b={self.random.choice(['G', self.scalar(), '3'])})")
        self.add(depth, f"{out} = {name}({self.vector()})")
        self.vectors.append(out)

    def do_match(self, depth: int) -> None:
        out = self.name("v")
        self.add(depth, f"match {self.random.choice(['K', 'MODE', '(K, flag)', '[1, 2.0]', 'k'])}:")
        for case in ("2", "'plain'", "(2, False)", "[1, other_]"):
            self.add(depth + 1, f"case {case}:")
            self.add(depth + 2, f"{out} = {self.expression()}")
        self.add(depth + 1, "case _:")
        self.add(depth + 2, f"{out} = {self.vector()}")
        self.vectors.append(out)

    def do_recursion(self, depth: int) -> None:
        name, out = self.name("r"), self.name("v")
        self.add(depth, f"def {name}(a, n):")
        self.add(
            depth + 1,
            f"return a if n <= 0 {self.random.choice(['', 'or np.sum(a) > 20.0'])} else np.sin({name}(a * 1.1, n - 1))",
        )
        self.add(depth, f"{out} = {name}({self.vector()}, {self.random.choice(['K', '3', 'len(x)'])})")
        self.vectors.append(out)

    def do_mask(self, depth: int) -> None:
        mask, out = self.name("m"), self.name("v")
        self.add(depth, f"{mask} = {self.vector()} > {self.random.choice(['0', 'G', '0.5', self.vector()])}")
        self.add(
            depth,
            f"{out} = np.where({mask}, {self.vector()}, {self.expression()}) * {self.random.choice(['1.0', mask])}",
        )
        self.vectors.append(out)

    def do_early(self, depth: int) -> None:
        self.add(depth, f"if {self.condition()}:")
        self.add(depth + 1, f"return {self.fill(self.random.choice(TO_SCALAR), self.vector())}")

    def do_ternary(self, depth: int) -> None:
        out = self.name("v")
        self.add(depth, f"{out} = {self.expression()} if {self.condition()} else {self.vector()}")
        self.vectors.append(out)

    def do_walrus(self, depth: int) -> None:
        name = self.name("s")
        self.add(depth, f"if ({name} := {self.scalar()}) > 0.5:")
        self.add(depth + 1, f"{name} = {name} * 2")
        self.scalars.append(name)

    def do_constant(self, depth: int) -> None:
        out = self.name("v")
        self.add(depth, f"{out} = {self.vector()} * " + self.random.choice([
            "np.array([1.0, 2.0, G, K])", "np.linspace(0.0, G, 4)", "np.arange(4.0)", "np.eye(4)[K]", "np.zeros(4, dtype=int)", "(np.arange(4) % 2)",
            "np.full(4, G)", "np.array(A)", "A[::-1]", "(A * 2)", "np.arange(4) / 3", "np.ones(4, dtype=np.float32)", "np.array([True, False, True, True])",
        ]))  # fmt: skip
        self.vectors.append(out)

    def do_deletion(self, depth: int) -> None:
        name = self.name("v")
        self.add(depth, f"{name} = {self.vector()} * 3")
        self.add(depth, f"{name}b = {name}")
        self.add(depth, f"del {name}")
        self.vectors.append(f"{name}b")

    def do_star(self, depth: int) -> None:
        out = self.name("v")
        self.add(depth, f"{out} = other(*({self.vector()}, {self.scalar()})) + helper({self.vector()}, **dict(c=G))")
        self.vectors.append(out)

    def do_nested_grad(self, depth: int) -> None:
        name, out = self.name("h"), self.name("v")
        self.add(depth, f"def {name}(a):")
        self.add(depth + 1, f"return np.sum(np.sin(a) * a * {self.random.choice(['G', self.vector(), '1.0'])})")
        self.add(depth, f"{out} = sd.grad({name})({self.vector()})")
        self.vectors.append(out)

    def do_assertion(self, depth: int) -> None:
        self.add(depth, f"assert {self.scalar()} < {self.random.choice(['50.0', '3.0', '100'])}, 'too large'")

    def do_raising(self, depth: int) -> None:
        self.add(depth, f"if {self.scalar()} > {self.random.choice(['20.0', '2.0', '5'])}:")
        self.add(depth + 1, "raise ValueError('too large')")

    def do_effect_free(self, depth: int) -> None:
        out = self.name("v")
        self.add(
            depth,
            f"{out} = np.linalg.solve(np.eye(4) * (2 + G ** 2) + np.outer({self.vector()}, np.ones(4)) * 0.01, {self.vector()})",
        )
        self.vectors.append(out)

    def do_scatter(self, depth: int) -> None:
        out = self.name("v")
        self.add(depth, f"{out} = np.take({self.vector()}, np.array([1, 1, 0, K])) + {self.vector()}[np.argsort(A)]")
        self.vectors.append(out)


def module(seed: int, effects: bool) -> str:
    """The text of one module."""
    writer = Writer(seed)
    writer.lines.append("def f(x, y, k=2, flag=False):")
    where = writer.random.randrange(6)
    for turn in range(writer.random.randrange(2, 8)):
        if effects and turn == where:
            writer.lines += ["    " + line for line in writer.random.choice(EFFECTS).split("; ")]
        writer.statement(1)
    result = " + ".join(writer.fill(writer.random.choice(TO_SCALAR), v) for v in writer.vectors[-2:])
    if writer.scalars:
        result += f" + {writer.scalars[-1]}"
    writer.add(1, f"return {result}")
    return "\n".join([HEAD, *writer.lines, TAIL])
