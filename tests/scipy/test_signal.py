"""`srcdiff.scipy.signal` against SciPy and against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import srcdiff as sd
import srcdiff.scipy
from srcdiff.errors import UnsupportedError
from tests.scipy.check import check, check_values

pytest.importorskip("scipy")
rng = np.random.default_rng(5)
X, K, E = rng.uniform(-1.0, 1.0, 9), rng.uniform(-1.0, 1.0, 3), rng.uniform(-1.0, 1.0, 4)
M, N, Z = rng.uniform(-1.0, 1.0, (4, 5)), rng.uniform(-1.0, 1.0, (2, 3)), X + 1j * rng.uniform(-1.0, 1.0, 9)
L = rng.uniform(-1.0, 1.0, (2, 24))
B, A = np.array([0.4, 0.3, 0.2]), np.array([1.2, -0.5, 0.3])
SOS = np.array([[0.4, 0.3, 0.2, -0.5, 0.3], [0.7, 0.1, 0.3, 0.2, 0.1]])

MODES = ("full", "same", "valid")
CONVOLUTIONS = [
    *[f"sp.signal.{f}({p}, {q}, {mode!r})"
      for f in ("convolve", "correlate", "fftconvolve") for mode in MODES
      for p, q in (("x", "k"), ("x", "e"), ("k", "x"), ("m", "n"), ("z", "k"))],
    *[f"sp.signal.{f}(m, n, {mode!r}, {boundary!r}, {fill})"
      for f in ("convolve2d", "correlate2d") for mode in MODES
      for boundary, fill in (("fill", 0), ("fill", 0.5), ("wrap", 0), ("symm", 0))],
    "sp.signal.convolve2d(n, m, 'valid')", "sp.signal.correlate2d(n, m, 'valid')",
    "sp.signal.convolve2d(n, m, 'same', 'wrap')",
    "sp.signal.convolve(x, k, method='fft')", "sp.signal.convolve(x, k, method='direct')",
    "sp.signal.fftconvolve(m, n[:1], axes=1)", "sp.signal.oaconvolve(m, n, mode='same')",
    "sp.signal.oaconvolve(m, m, axes=[0])",
    "sp.signal.upfirdn(k, x, 2, 3)", "sp.signal.upfirdn(k, m, up=3, axis=0)", "sp.signal.upfirdn(x, k)",
]  # fmt: skip
FILTERS = [
    "sp.signal.lfilter(b, a, x)", "sp.signal.lfilter(b, a, m, axis=0)", "sp.signal.lfilter(b, [1.0], x)",
    "sp.signal.lfilter([0.5], a, x)", "sp.signal.lfilter(b, a, z)", "sp.signal.lfilter(x, a, k)",
    "sp.signal.lfilter(b, a, x, zi=e[:2])", "sp.signal.lfilter(b, a, m, zi=n[:, :1].T * np.ones((4, 1)))",
    "sp.signal.lfilter(b, a, x[:1], zi=e[:2])", "sp.signal.lfilter_zi(b, a)",
    "sp.signal.filtfilt(b, a, l)", "sp.signal.filtfilt(b, a, l, padtype='even', padlen=4)",
    "sp.signal.filtfilt(b, a, l.T, axis=0, padtype='constant')", "sp.signal.filtfilt(b, [1.0], x, padtype=None)",
    f"sp.signal.sosfilt({(sections := 'np.concatenate([s[:, :3], np.ones((2, 1)), s[:, 3:]], 1)')}, x)",
    f"sp.signal.sosfilt({sections}, x, zi=np.ones((2, 2)) * e[0])", f"sp.signal.sosfilt_zi({sections})",
    f"sp.signal.sosfiltfilt({sections}, l)", "sp.signal.freqz(b, a, 5)[1]",
    "sp.signal.freqz(b, worN=5, whole=True, fs=10.0)[1]",
    "sp.signal.detrend(x)", "sp.signal.detrend(m, axis=0, type='constant')", "sp.signal.detrend(x, bp=[3, 6])",
    "sp.signal.hilbert(x)", "sp.signal.hilbert(m, N=6, axis=0)",
    *[f"sp.signal.savgol_filter(x, 5, 2, mode={m!r})" for m in ("interp", "mirror", "constant", "nearest", "wrap")],
    "sp.signal.savgol_filter(m, 3, 1, deriv=1, delta=0.5, axis=0)",
]  # fmt: skip
SPECTRA = [
    "sp.signal.periodogram(x)[1]", "sp.signal.periodogram(x, 2.0, 'hann', nfft=12, scaling='spectrum')[1]",
    "sp.signal.periodogram(x, nfft=6)[1]", "sp.signal.welch(l, nperseg=8)[1]",
    "sp.signal.welch(l.T, fs=3.0, window='hamming', nperseg=7, noverlap=2, nfft=11, detrend='linear', axis=0)[1]",
    "sp.signal.welch(z, nperseg=4, return_onesided=False)[1]",
    "sp.signal.welch(l, window=np.hanning(6), detrend=False)[1]", "sp.signal.csd(l, l[::-1], nperseg=8)[1]",
    "sp.signal.csd(l, l[:, :20] ** 2, nperseg=8, detrend=lambda d: d * 2.0)[1]",
    "sp.signal.coherence(l, l[::-1], nperseg=8)[1]", "sp.signal.spectrogram(l, nperseg=8)[2]",
    "abs(sp.signal.spectrogram(l, nperseg=8, mode='complex')[2])",
    "sp.signal.spectrogram(l.T, nperseg=7, noverlap=3, mode='magnitude', axis=0)[2]",
    *[f"sp.signal.stft(l, nperseg=6, boundary={b!r})[2]" for b in ("zeros", "even", "odd", "constant", None)],
    "sp.signal.stft(l, nperseg=7, noverlap=5, padded=False, scaling='psd')[2]",
]  # fmt: skip
VALUES = {"x": X, "k": K, "e": E, "m": M, "n": N, "z": Z, "l": L, "b": B, "a": A, "s": SOS}


def values_of(call: str) -> dict[str, Any]:
    """Those values that the call names."""
    names = compile(call, "call", "eval").co_names
    return {name: value for name, value in VALUES.items() if name in names}


@pytest.mark.parametrize("call", [*CONVOLUTIONS, *FILTERS, *SPECTRA])
def test_values_and_derivatives(call: str) -> None:
    check(call, values_of(call), rtol=1e-10)


def test_medians_of_spectra_within_reach_of_no_tie() -> None:
    check("sp.signal.welch(l, nperseg=8, average='median')[1]", {"l": L}, h=1e-5, accuracy=1e-5)


@pytest.mark.parametrize("call", ["convolve(x, k)", "fftconvolve(x, k)", "lfilter(b, a, x)", "savgol_filter(x, 5, 2)"])
def test_float32_stays_float32(call: str) -> None:
    check_values(
        f"sp.signal.{call}", {n: v.astype(np.float32) for n, v in values_of(f"sp.signal.{call}").items()}, 2e-6
    )


def test_large_convolutions_go_through_fourier_transforms_and_agree() -> None:
    x, k = rng.standard_normal(3000), rng.standard_normal(900)
    t = sd.tensor(x, requires_grad=True)
    made = sd.scipy.signal.convolve(t, k, "same")
    made.sum().backward()
    ones = np.ones(3000)
    np.testing.assert_allclose(t.grad.numpy(), sd.scipy.signal.correlate(ones, k, "full")[900 - 1 - 450 + 1 :][:3000])


def test_a_coefficient_that_is_zero_has_its_gradient() -> None:
    g = sd.grad(lambda a: np.sum(sd.scipy.signal.lfilter([1.0], a, X) ** 2))(np.array([1.0, 0.0, 0.0]))
    h = 1e-6
    f = lambda a: float(np.sum(sd.scipy.signal.lfilter([1.0], a, X) ** 2))
    want = [(f(np.eye(3)[0] + h * e) - f(np.eye(3)[0] - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(g, want, rtol=1e-7)


BAD = ["convolve(m, x)", "lfilter(b, [0.0, 1.0], x)", "filtfilt(b, a, k)", "detrend(x, type='no')", "sosfilt(n, x)"]


@pytest.mark.parametrize("call", BAD)
def test_bad_arguments_raise_as_in_scipy(call: str) -> None:
    import scipy.signal

    with pytest.raises(ValueError) as theirs:  # noqa: PT011  whatever it says
        eval(f"s.{call}", {**VALUES, "s": scipy.signal})
    with pytest.raises(type(theirs.value)):
        eval(f"s.{call}", {**{n: sd.tensor(v) for n, v in VALUES.items()}, "s": sd.scipy.signal})


def test_what_is_missing_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedError, match=r"scipy\.signal\.medfilt"):
        sd.grad(lambda x: np.sum(sd.scipy.signal.medfilt(x)))(X)
    with pytest.raises(UnsupportedError, match="gust"):
        sd.grad(lambda x: np.sum(sd.scipy.signal.filtfilt(B, A, x, method="gust")))(X)
    np.testing.assert_array_equal(sd.scipy.signal.get_window("hann", 4), [0.0, 0.5, 1.0, 0.5])
