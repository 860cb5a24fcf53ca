"""`srcdiff.scipy.fft` against SciPy and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import UnsupportedError
from tests.scipy.check import check, check_values

pytest.importorskip("scipy")
rng = np.random.default_rng(3)
X, Z = rng.standard_normal((3, 4)), rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))

REAL = [f"{i}{name}" for i in ("", "i") for name in ("fft", "fft2", "fftn")] + ["rfft", "rfft2", "rfftn", "ihfft"]
CALLS = [
    *[f"sp.fft.{name}(x)" for name in REAL],
    *[f"sp.fft.{name}(z)" for name in ("fft", "ifftn", "irfft", "irfft2", "irfftn", "hfft", "hfft2", "hfftn")],
    "sp.fft.ihfft2(x)", "sp.fft.ihfftn(x, norm='ortho')", "sp.fft.hfftn(z, norm='forward', s=(3, 5))",
    "sp.fft.fft(x, 6, 0, 'ortho', workers=1)", "sp.fft.rfftn(x, s=(2, 5), axes=(1, 0), norm='forward')",
    "sp.fft.irfft(z, n=5, overwrite_x=True)", "sp.fft.fftshift(z)", "sp.fft.ifftshift(x, axes=1)",
    *[
        f"sp.fft.{i}{kind}(x, {type}, norm={norm!r})"
        for i in ("", "i") for kind in ("dct", "dst") for type in (1, 2, 3, 4) for norm in (None, "ortho", "forward")
    ],
    *[f"sp.fft.{kind}(x, {type}, orthogonalize=True)" for kind in ("dct", "idst") for type in (1, 2, 3, 4)],
    "sp.fft.dct(x, n=3, axis=0)", "sp.fft.dct(x, n=6, norm='ortho', orthogonalize=False)", "sp.fft.dct(z)",
    "sp.fft.dctn(x)", "sp.fft.idctn(x, norm='ortho', axes=[0])", "sp.fft.dstn(x, 3, s=(5,))",
    "sp.fft.idstn(x, s=(2, 3), axes=(1, 0))",
]  # fmt: skip


def values_of(call: str) -> dict[str, Any]:
    return {"z": Z} if "(z" in call else {"x": X}


@pytest.mark.parametrize("call", CALLS)
def test_values_and_derivatives(call: str) -> None:
    check(call, values_of(call), rtol=1e-13)


@pytest.mark.parametrize("call", ["sp.fft.fft(x)", "sp.fft.rfft(x)", "sp.fft.dct(x)", "sp.fft.dct(x, norm='ortho')"])
def test_float32_stays_single(call: str) -> None:
    check_values(call, {"x": X.astype(np.float32)}, 1e-5)


@pytest.mark.parametrize("name", ["fft", "rfftn", "dct", "idstn", "fftshift"])
def test_scipys_own_functions_differentiate_with_this_backend(name: str) -> None:
    import scipy.fft

    f = lambda transform: sd.grad(lambda x: np.sum(np.abs(transform(x)) ** 2))(X)
    with scipy.fft.set_backend(sd.scipy.fft):
        if name != "fftshift":  # not a multimethod
            np.testing.assert_array_equal(f(getattr(scipy.fft, name)), f(getattr(sd.scipy.fft, name)))
        np.testing.assert_array_equal(scipy.fft.fft(X), np.fft.fft(X))


def test_what_is_missing_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.fft\.fht is not supported"):
        sd.grad(lambda x: np.sum(sd.scipy.fft.fht(x, 0.1, 0.5)))(X)
    with pytest.raises(UnsupportedError, match="plan"):
        sd.grad(lambda x: np.sum(np.real(sd.scipy.fft.fft(x, plan=3))))(X)


@pytest.mark.parametrize("call", ["dct(x, 5)", "dct(x, norm='no')", "dct(x, axis=2)", "dctn(x, s=(1, 2), axes=(0,))"])
def test_errors_are_scipys(call: str) -> None:
    import scipy.fft

    error = (ValueError, IndexError)
    for module, x in ((scipy.fft, X), (sd.scipy.fft, sd.tensor(X))):
        with pytest.raises(error):
            eval(f"f.{call}", {"f": module, "x": x})
