"""The pieces that random functions are made of, and what is done to the modules they stand in."""

from __future__ import annotations


def _listed(text: str) -> list[str]:
    return [part.strip().replace("\\n", "\n") for part in " ".join(text.split("\n")).split(" | ")]


HEAD = """\
import functools
import itertools
import math
import operator
from collections import namedtuple
import numpy as np
from math import sqrt
from numpy import sin as sine

LOG = []
COUNT = 0
STORE = {}
RNG = np.random.default_rng(5)
G = 1.5
K = 2
A = np.array([0.5, -1.25, 2.0, 0.75])
T = (1.0, 2, (0.25, -0.5))
MODE = "plain"
BUFFER = np.zeros(4)
Pair = namedtuple("Pair", "first second")
LIST = [0.5, 2.0]
TABLE = {"a": 1.5, "b": LIST}

class Base:
    c = 0.25
    def scaled(self, a):
        return a * self.b + self.c
    @property
    def twice(self):
        return 2 * self.b

class Thing(Base):
    def __init__(self, b):
        self.b = b

THING = Thing(0.5)

def helper(a, b=0.5, *, c=1.0):
    return a * b + c

def other(a, *rest):
    return np.tanh(a) + sum(rest)

def deep(a, n):
    return a if n == 0 else deep(a * 0.5 + 0.1, n - 1)
"""

#: with holes for vectors
UNARY = _listed(
    """
    np.sin({}) | np.tanh({}) | np.exp(-{} * {}) | np.sqrt({} ** 2 + 1.0) | np.abs({}) | {} ** 2 | -{} | +{} |
    np.arctan({}) | np.maximum({}, 0.25) | np.where({} > 0, {}, 0.5 * {}) | np.clip({}, -1.0, 1.0) | sine({}) |
    np.log(np.abs({}) + 1.0) | {} / 2 | 2 / ({} * {} + 1) | helper({}) | helper({}, c=G) | deep({}, K) |
    np.square({}) | np.where({} > 0, np.sqrt(np.abs({})), {}) | {} % 1.5 | {} // 0.5 + {} | np.nan_to_num({}) |
    np.sign({}) * {} | np.float64(2.0) * {} | {} ** K | {} * T[2][0] | 0.0 + {} | {} * 1 |
    THING.scaled({}) | Thing(G).scaled({}) | {} * LIST[0] | {} * TABLE['b'][1] |
    {} * Thing({}).b
    """
)
BINARY = _listed(
    """
    {} + {} | {} - {} | {} * {} | {} / (np.abs({}) + 1.0) | np.maximum({}, {}) | np.hypot({}, {} + 2.0) |
    np.where({} > {}, 1.0, 2.0) | other({}, {}) | np.arctan2({}, {} + 3.0) | np.logaddexp({}, {})
    """
)
#: vectors to numbers, and to vectors
TO_SCALAR = _listed(
    """
    np.sum({}) | np.mean({}) | {}.sum() | np.max({}) | {}[0] | {}[-1] | np.dot({}, {}) | {} @ {} |
    np.prod(np.tanh({})) | np.var({}) | np.linalg.norm({}) | sum({}) | max({}) | min({}, key=lambda q: -q) |
    sorted({})[1] | {}[np.argmax({})] | np.sum({}[{} > 0]) | np.sort({})[2] | functools.reduce(operator.add, {}) |
    np.std({}) | np.cumsum({})[-1] | np.max({}) - np.min({}) | np.trapezoid({}) | np.median({})
    """
)
TO_VECTOR = _listed(
    """
    np.cumsum({}) | {}[::-1] | np.roll({}, 1) | np.sort({}) | np.concatenate([{}[:2], {}[2:]]) |
    np.stack([a * 2 for a in {}]) | np.outer({}, {})[1] | np.diag(np.diag({})) | {}.copy() |
    {}.reshape(2, 2).T.ravel() | np.repeat({}[:2], 2) | np.full(4, 0.5) * {} | {} * A | np.arange(4) * {} |
    np.ones(4) + {} | np.array(T[:2] + (3, 4.0)) * {} | np.einsum('i,ij->j', {}, np.eye(4)) | np.pad({}, 1)[1:-1] |
    np.zeros_like({}) + {} | {}[np.argsort({})] | np.tile({}, 2)[2:6] | np.flip({}) | np.broadcast_to({}, (2, 4))[1] |
    np.array([a * 1.5 for a in {}]) | {}[[0, 0, 3, 1]] | np.matmul(np.eye(4), {}) | np.kron({}[:2], np.ones(2)) |
    np.tril(np.outer({}, {}))[3] | np.diff({}, prepend=0.5)
    """
)

#: what a function had better not do, if it is to be replayed
EFFECTS = _listed(
    r"""
    b = LIST; b += [0.5] | LOG.append(len(LOG)) | THING.b = THING.b + 1.0 | TABLE['a'] = TABLE['a'] * 0.5 |
    global COUNT; COUNT += 1 | STORE['n'] = STORE.get('n', 0) + 1 |
    x = x + RNG.normal() * 0.0 + RNG.normal() | BUFFER[0] += 1 | BUFFER[:] = 3.0 | LOG.append(x) |
    helper.calls = getattr(helper, 'calls', 0) + 1 | b = BUFFER; b += 1 | print(end='') | y += 0.5 | y[0] = 3.0 |
    x[1] = 2.0 | np.add(BUFFER, 1, out=BUFFER) | BUFFER.fill(len(LOG) + 1.0) | y *= 2.0 |
    try:\n        LOG.append(1)\n    finally:\n        LOG.append(2) | y.sort() |
    STORE.setdefault('l', []).append(1) | A[0] += 0.125
    """
)

#: what happens to a module between calls
ACTIONS = _listed(
    """
    THING.b = 1.25 | THING.c = 0.75 | Base.c = 0.125 | THING = Thing(2.0) | THING.__dict__ = {'b': 3.0} |
    Thing.scaled = lambda self, a: a - self.b | THING.scaled = lambda a: a * 3.0 |
    Base.scaled = lambda self, a: a + 1.0 | Base.twice = 4.0 | THING.__class__ = Base |
    LIST[0] = 1.25 | LIST.append(1.0) | LIST = [1.5, 0.5] |
    LIST.reverse() |
    TABLE['a'] = 0.25 | TABLE['b'] = [1.0, 3.0] | TABLE = {'b': LIST, 'a': 1.0} | del TABLE['a'] |
    Thing.__init__ = lambda self, b: None | Thing.__bool__ = lambda self: False |
    G = 2.5 | G = 1.5 | G = 2 | G = True | G = 2.0 | G = np.float64(2.5) | G = -0.0 | G = 0.0 | K = 1 | K = 3 |
    K = True | K = 2 | A[0] = 4.0 | A[1] = 0.0 | A[:] = A[::-1].copy() | A = np.array([1.0, 2.0, 3.0, 4.0]) |
    A = A.astype(np.float32) | A = [1.0, 2.0, 0.5, 0.1] | T = (2.0, 3, (1.0, 1.0)) | T = (1.0, 2, (0.25, -0.5)) |
    T = (1, 2, (0.25, -0.5)) | MODE = 'other' | MODE = 'plain' | helper = lambda a, b=0.5, *, c=1.0: a - b |
    helper.__defaults__ = (1.5,) | helper.__kwdefaults__ = {'c': 3.0} | helper.__code__ = alternative.__code__ |
    helper.__kwdefaults__['c'] = G * 1.0 | def other(a, *rest): return a * 2.0 | other = impure |
    deep = lambda a, n: a * n | sine = np.cos | len = lambda a: 4 | Pair.first = Pair.second |
    Pair = namedtuple('Pair', 'first second') | BUFFER[:] = 0.0 | BUFFER[0] = 7.0 | del G | sqrt = math.exp |
    np_exp = np.exp | f.__defaults__ = (3, True) | f.__code__ = f_two.__code__ | f.__kwdefaults__ = None
    """
)

TAIL = """
def alternative(a, b=0.5, *, c=1.0):
    return a * c - b

def impure(a, *rest):
    LOG.append("impure")
    return a * float(len(LOG))

def f_two(x, y, k=2, flag=False):
    return np.sum(x * x * y) + LOG_SIZE

LOG_SIZE = 3.0
"""
