"""Every error srcdiff raises on purpose.

    SrcdiffError
    +-- ShapeError (ValueError, RuntimeError)    operands whose shapes do not fit
    +-- OutOfBoundsError (IndexError, RuntimeError)   an index, class or probability outside its range
    +-- DTypeError (TypeError)           a dtype that cannot be differentiated or does not fit
    +-- NotDifferentiableError (TypeError)   an operation without a derivative, or a gradient that would be lost
    +-- GradientLostError (TypeError, RuntimeError, BufferError)    a value about to leave the graph silently
    +-- UnsupportedError (TypeError, NotImplementedError)   a NumPy function or keyword srcdiff does not cover
    +-- AutogradError (RuntimeError)     PyTorch's runtime errors: freed graphs, in-place rules, wrong cotangents
    +-- RandomError (RuntimeError, ValueError)   a seed, state, range or probability that random numbers cannot have
    +-- ArgumentError (ValueError, TypeError)    a value that an argument cannot have
    +-- ModuleError (RuntimeError, KeyError, TypeError, AttributeError)   what a Module cannot hold or load
    +-- ReplayError (RuntimeError)       a replayed call gave another result than tracing it: a bug, please report it
    +-- CompileError (RuntimeError)      the compiler met a program it cannot handle: a bug, please report it

Each also derives from the built-in that NumPy or PyTorch raises in the same situation, so `except RuntimeError`
written for PyTorch keeps working.
"""

from __future__ import annotations


class SrcdiffError(Exception):
    """The root of all of srcdiff's errors."""


class ShapeError(SrcdiffError, ValueError, RuntimeError):
    """Operands whose shapes do not fit the operation."""


class OutOfBoundsError(SrcdiffError, IndexError, RuntimeError):
    """An index, class or probability outside its range."""


class DTypeError(SrcdiffError, TypeError):
    """A dtype that cannot be differentiated, or does not fit."""


class NotDifferentiableError(SrcdiffError, TypeError):
    """A derivative was asked for that does not exist, or that srcdiff lacks."""


class GradientLostError(SrcdiffError, TypeError, RuntimeError, BufferError):
    """A value under differentiation was about to become a plain number, losing its gradient."""


class UnsupportedError(SrcdiffError, NotImplementedError, TypeError):
    """A NumPy function, keyword or operand that srcdiff does not cover."""


class AutogradError(SrcdiffError, RuntimeError):
    """A rule of eager autograd was broken; the texts follow PyTorch's."""


class RandomError(SrcdiffError, RuntimeError, ValueError):
    """A seed, state, range or probability that random numbers cannot have."""


class ArgumentError(SrcdiffError, ValueError, TypeError):
    """A value that an argument cannot have."""


class ModuleError(SrcdiffError, RuntimeError, KeyError, TypeError, AttributeError):
    """Something that a Module cannot hold, find or load; the texts follow PyTorch's, and so do the classes caught."""

    __str__ = Exception.__str__


class CompileError(SrcdiffError, RuntimeError):
    """An internal inconsistency found while compiling."""


class ReplayError(SrcdiffError, RuntimeError):
    """A replayed call gave another result than tracing it. Raised only if `config.check_replay` asks for the
    comparison.
    """
