"""NumPy's functions on arrays as a whole (shape, parts, products, matrices, transforms): values and gradients.

Each row is an expression and the inputs it is about. Values must be NumPy's, also from our implementations on plain
arrays; gradients must agree with differences.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.functions.check import Ours, check_gradient, check_values
from tests.versions import newer

rng = np.random.default_rng(3)
INPUTS: dict[str, Any] = {
    "s": np.array(0.7),
    "v": np.array([0.62, -0.31, 0.83, 0.45]),
    "w": np.array([0.55, 0.72, -0.28, 0.39]),
    "d": np.array([0.4, -0.9, 0.6]),
    "M": rng.uniform(-1, 1, (3, 4)),
    "M2": rng.uniform(-1, 1, (3, 4)),
    "N": rng.uniform(-1, 1, (4, 2)),
    "T": rng.uniform(-1, 1, (2, 3, 4)),
    "R": rng.uniform(-1, 1, (1, 4, 1)),
    "S": rng.uniform(-0.5, 0.5, (3, 3)) + np.diag([1.0, -1.5, 2.0]),
    "B": rng.uniform(-0.5, 0.5, (2, 3, 3)) + np.diag([1.0, -1.5, 2.0]),
    "A": rng.uniform(-1, 1, (4, 3)) + np.eye(4, 3),
    "Z": np.array([1.0 + 2.0j, -0.5 + 0.25j, 2.0 - 1.0j]),
    "C": rng.uniform(-1, 1, (3, 3)) + 1j * rng.uniform(-1, 1, (3, 3)) + 2 * np.eye(3),
    "I": np.arange(6).reshape(2, 3),
    "f": np.float32([0.5, 1.5, -2.0]),
}

SHAPES = """
v: np.reshape(v, (2, 2))
M: np.reshape(M, (2, -1), order='F')
M: np.reshape(M, 12, order='A')
M: np.reshape(np.transpose(M), (6, 2), order='A')
M: np.reshape(M, (4, 3), copy=True)
T: np.ravel(T)
M: np.ravel(M, 'F')
T: np.ravel(np.transpose(T, (2, 0, 1)), 'K')
T: np.transpose(T)
T: np.transpose(T, (2, 0, -2))
T: np.permute_dims(T, (1, 0, 2))
T: np.matrix_transpose(T)
T: np.swapaxes(T, 0, -1)
T: np.moveaxis(T, 0, -1)
T: np.moveaxis(T, (0, 1), (-1, 0))
T: np.rollaxis(T, 2)
T: np.rollaxis(T, 0, 3)
v: np.expand_dims(v, (0, 2))
v: np.expand_dims(v, -1)
R: np.squeeze(R)
R: np.squeeze(R, 0)
R: np.squeeze(R, (0, -1))
s: np.atleast_1d(s)
v: np.atleast_2d(v)
v, M: np.atleast_3d(v, M)
v: np.broadcast_to(v, (3, 4))
s: np.broadcast_to(s, 3)
v, R: np.broadcast_arrays(v, R)
v, d: np.meshgrid(v, d)
v, d: np.meshgrid(v, d, indexing='ij', sparse=True)
v, d, w: np.meshgrid(v, d, w, copy=False)
M: np.flip(M)
T: np.flip(T, (0, -1))
M: np.fliplr(M)
M: np.flipud(M)
M: np.rot90(M)
T: np.rot90(T, 3, axes=(1, 2))
M: np.rot90(M, -2)
M: np.roll(M, 2)
M: np.roll(M, (1, -2), axis=(0, 1))
M: np.roll(M, 3, axis=-1)
M: np.roll(M, (1, 2), axis=1)
v: np.fft.fftshift(v)
M: np.fft.ifftshift(M, axes=0)
M: np.fft.fftshift(M)
v: np.diag(v)
v: np.diag(v, -1)
M: np.diag(M, 1)
M: np.diagflat(M, 1)
T: np.diagonal(T, 1, 1, 2)
T: np.diagonal(T, axis1=2, axis2=0)
T: np.linalg.diagonal(T, offset=-1)
T: np.trace(T, 0, 2, 1)
S: np.trace(S, offset=1)
f: np.trace(np.diag(f), dtype=np.float64)
f: np.linspace(f, 2.0, 3)
f: np.linspace(1, f, 4, endpoint=False, retstep=True)
f: np.linspace(f, np.float64(2.0), 3)
f: np.logspace(f, 1, 3)
f: np.logspace(f, 1.0, 3, base=np.arange(2.0, 5.0))
f: np.geomspace(np.abs(f), 2.0, 3)
f: np.gradient(f, 0.5)
f: np.gradient(f, np.array([0.0, 1.0, 3.0]))
f: np.ediff1d(f, to_end=[1.0])
f: np.quantile(f, 0.5)
f: np.quantile(f, [0.3, 0.7], method='weibull')
f: np.percentile(f, 50)
f: np.percentile(f, np.float64(30.0))
f: np.nanpercentile(f, [30.0], method='hazen')
f: np.nanquantile(f, np.array(0.4), method='lower')
f: np.divide.reduce(f, initial=2.0)
f: np.add(f, f, dtype=np.float64)
f: np.average(f, weights=np.ones(3, np.float16), returned=True)
f: np.average(f, weights=np.arange(3.0), returned=True)
f: np.ix_(f, f)
d: np.ix_(d)[0]
f: np.emath.sqrt(np.astype(f, np.float16))
f: np.multiply(f, 2, dtype=np.complex128)
T: np.linalg.trace(T)
S: np.tril(S)
T: np.triu(T, 1)
v: np.triu(v)
M: np.copy(M)
v, s: np.full_like(v, s)
v, M: np.full_like(M, v)
v, s: np.full_like(v, s, dtype=np.float32, shape=(2, 1))
v: np.astype(v, np.float64)
"""

JOINS = """
v, w: np.concatenate([v, w])
M, M2: np.concatenate((M, M2), axis=1)
M, v: np.concatenate((M, v), axis=None)
M: np.concatenate(M)
v, Z: np.concatenate([v, Z])
v: np.concatenate([v, np.ones(2)])
v, d: np.concat([v, d])
v, d: np.concatenate([v, d], dtype=np.float32)
v, w: np.stack([v, w], axis=1)
v, w: np.stack([v, w], -1)
s: np.stack([s, 1.0, s * s])
M: np.stack(M, axis=1)
v, w: np.vstack([v, w])
v, w: np.hstack([v, w])
M, M2: np.hstack([M, M2])
v, w: np.dstack([v, w])
v, w, N: np.column_stack([v, w, N])
v, w: np.append(v, w)
M, M2: np.append(M, M2, axis=0)
M, M2: np.block([[M, M2], [M2, M]])
v, s: np.block([v, s, 2.0])
v: np.block(v)
T, v: np.block([[[T]], [[np.ones((2, 3, 4))]]])
v: np.split(v, 2)
M: np.split(M, [1, 3], axis=1)
v: np.split(v, [3, 1])
v: np.split(v, [1, 9])[1]
v: np.array_split(v, 3)
v: np.array_split(v, 3)[0]
M: np.hsplit(M, 2)[1]
v: np.hsplit(v, [1])
N: np.vsplit(N, 2)
T: np.dsplit(T, 2)[1]
M: np.unstack(M)[1]
M: np.unstack(M, axis=-1)
"""

EDITS = """
v: np.tile(v, (2, 2))
M: np.tile(M, 2)
M: np.tile(M, (2, 1, 3))
s: np.tile(s, 3)
M: np.repeat(M, 2, axis=1)
M: np.repeat(M, 2)
v: np.repeat(v, np.array([1, 2, 0, 1]))
M: np.repeat(M, [2, 0, 1], axis=0)
v: np.resize(v, (6,))
M: np.resize(M, (2, 3))
M: np.pad(M, ((1, 1), (0, 2)))
M: np.pad(M, 1, constant_values=2.5)
M: np.pad(M, ((1, 1), (0, 2)), constant_values=((1.0, 2.0), (3.0, 4.0)))
M, s: np.pad(M, 1, constant_values=s)
M: np.pad(M, {-1: (1, 2)})
v: np.pad(v, 2, mode='wrap')
v: np.pad(v, (9, 6), mode='wrap')
M: np.pad(M, 2, mode='edge')
M: np.pad(M, (2, 1), mode='reflect')
M: np.pad(M, 5, mode='symmetric')
M: np.pad(M, (2, 1), mode='reflect', reflect_type='odd')
M: np.pad(M, (2, 3), mode='symmetric', reflect_type='odd')
M: np.pad(M, ((2, 1), (0, 3)), mode='linear_ramp', end_values=1.5)
M: np.pad(M, ((2, 1), (0, 3)), mode='linear_ramp', end_values=((1.0, 2.0), (0.0, -1.0)))
M: np.pad(M, 1, mode='mean', stat_length=2)
M: np.pad(M, 1, mode='maximum')
M: np.pad(M, (1, 2), mode='minimum', stat_length=((1, 2), (3, 1)))
M: np.pad(M, 1, mode='median')
v: np.trim_zeros(np.concatenate([np.zeros(1), v, np.zeros(2)]))
v: np.trim_zeros(np.concatenate([np.zeros(1), v, np.zeros(2)]), 'f')
v: np.delete(v, 1)
v: np.delete(v, [0, -1])
M: np.delete(M, slice(1, 3), axis=1)
M: np.delete(M, 3)
v, s: np.insert(v, 2, s)
v: np.insert(v, [1, 3], [9.0, 8.0])
v, w: np.insert(v, [3, 1, 1], w[:3])
M, v: np.insert(M, 1, v, axis=0)
M, d: np.insert(M, 1, d, axis=1)
M, d: np.insert(M, [1], d[:, None], axis=1)
M, d: np.insert(M, [2, 2], np.stack([d, d], 1), axis=1)
v: np.insert(v, -1, 5.0)
v: np.insert(v, slice(0, 3, 2), 5.0)
v: np.lib.stride_tricks.sliding_window_view(v, 2)
M: np.lib.stride_tricks.sliding_window_view(M, (2, 3))
T: np.lib.stride_tricks.sliding_window_view(T, 2, axis=1)
"""

SELECTIONS = """
M: M[1]
M: M[-1, 1:]
M: M[..., None, ::-2]
M: M[[0, 0, 2], [1, 1, -1]]
M: M[:, [0, 0, 2]]
T: T[1, :, [0, 3]]
v: v[v > 0.4]
M: M[M > 0]
M: M[np.array([True, False, True])]
v: v[np.argsort(v)]
v: v[np.nonzero(v > 0)]
M: M[np.ix_([0, 2], [1, 3])]
S: S[np.tril_indices(3)]
S: S[np.diag_indices(3)]
S: S[np.triu_indices_from(S, 1)]
v: v[()]
v: v[True]
v: v[np.array(2)]
M: np.take(M, [0, 2, 2], axis=1)
M: np.take(M, 5)
M: np.take(M, [[0, 1], [11, -1]])
M: np.take(M, [-1, 7], axis=0, mode='wrap')
M: np.take(M, [-1, 7], axis=1, mode='clip')
M: np.take_along_axis(M, np.array([[0], [2], [1]]), axis=1)
M: np.take_along_axis(M, np.array([[0, 2, 2]]), axis=1)
M: np.take_along_axis(M, np.argsort(M, axis=0), axis=0)
M: np.take_along_axis(M, np.array([3, 3, 0]), axis=None)
v: np.compress(np.array([True, False, True, True]), v)
M: np.compress([False, True], M, axis=0)
v: np.extract(np.array([True, False, True, True]), v)
v, w: np.choose([0, 1, 1, 0], [v, w])
v, M: np.choose([[0], [1], [3]], [v, M], mode='wrap')
v: np.unique(v)
v: np.unique(np.concatenate([v, v]))
v: np.unique(v, return_inverse=True, return_counts=True)
v, w: np.union1d(v, w)
v: np.unique_values(v)
v, w: np.setdiff1d(v, w)
v: np.intersect1d(v, v[1:])
v, w: np.setxor1d(v, w)
"""

PRODUCTS = """
M, N: np.dot(M, N)
T, v: np.dot(T, v)
T, A: np.dot(T, A)
T: np.dot(np.ones((2, 3)), T)
s, M: np.dot(s, M)
v, w: np.vdot(v, w)
M, M2: np.vdot(M, M2)
Z, C: np.vdot(Z, C[0])
M, M2: np.inner(M, M2)
T, M: np.inner(T, M)
T, v: np.inner(T, v)
v, d: np.outer(v, d)
M, d: np.outer(M, d)
v, d: np.linalg.outer(v, d)
M, N: np.matmul(M, N)
T, N: T @ N
T, N: np.linalg.matmul(T, N)
T, N: np.tensordot(T, N, axes=([2], [0]))
T, M: np.tensordot(T, M)
T, T: np.tensordot(T, T, axes=((0, 1), (0, 1)))
T, M: np.tensordot(T, M, axes=([2, 1], [1, 0]))
v, d: np.tensordot(v, d, 0)
T, N: np.linalg.tensordot(T, N, axes=1)
S, M: np.kron(S, M)
v, M: np.kron(v, M)
S: np.cross(S, S[::-1] * 2.0 + 1.0)
S, d: np.cross(S, d, axisa=0)
S, d: np.cross(S, d[:, None], axis=0)
S, B: np.linalg.cross(S, B)
M, M2: np.linalg.vecdot(M, M2)
M, M2: np.linalg.vecdot(M, M2, axis=0)
C, Z: np.linalg.vecdot(C, Z)
M, N: np.linalg.multi_dot([M, N, np.ones((2, 3)), M])
v, N: np.linalg.multi_dot([v, N, np.ones(2)])
M, N: np.einsum('ij,jk->ik', M, N)
M, N: np.einsum('ij,jk', M, N)
M: np.einsum('ba', M)
S: np.einsum('ii', S)
S: np.einsum('ii->i', S)
T, M: np.einsum('...ij,ij->...', T, M)
T, N: np.einsum('...j,jk->...k', T, N)
M, N, v: np.einsum('ij,jk,j->ik', M, N, v)
M, N, v: np.einsum('ij,jk,j->ik', M, N, v, optimize=True)
M, N, v: np.einsum('ij,jk,j->ik', M, N, v, optimize=['einsum_path', (0, 1), (0, 1)])
M, N: np.einsum(M, [0, 1], N, [1, 2], [0, 2])
T, v: np.einsum(T, [Ellipsis, 1], v, [1])
v, w: np.einsum('i,j->ij', v, w)
v: np.einsum('i,i', v, np.array([4.0]))
M, v: np.einsum('i...->...', M)
B, B: np.einsum('bii->b', B)
B: np.einsum('bij,bji->b', B, B)
C, Z: np.einsum('ij,j', C, Z)
s, v: np.einsum(',i', s, v)
v: np.einsum(' i , i -> i ', v, v)
"""

MATRICES = """
S: np.linalg.inv(S)
B: np.linalg.inv(B)
C: np.linalg.inv(C)
A: np.linalg.pinv(A)
A: np.linalg.pinv(A, rtol=1e-6)
B: np.linalg.pinv(B, rtol=np.full(len(B), 1e-6))
B: np.linalg.pinv(B, 1e-10)
S, d: np.linalg.solve(S, d)
S, A: np.linalg.solve(S, np.transpose(A))
B, d: np.linalg.solve(B, d)
B, S: np.linalg.solve(B, S)
S, B: np.linalg.solve(S, B)
C, d: np.linalg.solve(C, d)
S, d: np.linalg.tensorsolve(np.reshape(S, (3, 1, 3)), np.reshape(d, (3, 1)))
A: np.linalg.tensorinv(np.reshape(A @ np.transpose(A) + 2 * np.eye(4), (2, 2, 4)), ind=2)
A, v: np.linalg.lstsq(A, v, rcond=None)[:2]
A, N: np.linalg.lstsq(A, N, rcond=None)[:2]
S: np.linalg.det(S)
B: np.linalg.det(B)
C: np.linalg.det(C)
S: np.linalg.slogdet(S)
B: np.linalg.slogdet(B).logabsdet
C: np.linalg.slogdet(C)
S: np.linalg.matrix_power(S, 3)
S: np.linalg.matrix_power(S, 6)
S: np.linalg.matrix_power(S, -2)
S: np.linalg.matrix_power(S, 1)
S: np.linalg.cholesky(S @ np.transpose(S) + 3.0 * np.eye(3))
S: np.linalg.cholesky(S @ np.transpose(S) + 3.0 * np.eye(3), upper=True)
B: np.linalg.cholesky(B @ np.matrix_transpose(B) + 3.0 * np.eye(3))
C: np.linalg.cholesky(C @ np.conj(np.transpose(C)) + 3.0 * np.eye(3))
A: np.linalg.qr(A)
A: np.linalg.qr(A, 'r')
A: np.linalg.qr(np.transpose(A), mode='complete')
C: np.linalg.qr(C)
B: np.linalg.qr(B).R
A: np.linalg.svd(A, full_matrices=False)
A: np.linalg.svd(A)[1:]
A: np.linalg.svd(np.transpose(A), False).S
S: np.linalg.svd(S)
B: np.linalg.svd(B, compute_uv=False)
C: np.linalg.svdvals(C)
C: np.abs(np.linalg.svd(C)[0]) ** 2
C: (lambda u, s, vh: (u * np.sqrt(s)) @ vh)(*np.linalg.svd(C))
S: np.linalg.eigh(S + np.transpose(S))
S: np.linalg.eigh(S + np.transpose(S), 'U')[1]
B: np.linalg.eigvalsh(B + np.matrix_transpose(B))
C: np.linalg.eigvalsh(C + np.conj(np.transpose(C)))
C: np.abs(np.linalg.eigh(C + np.conj(np.transpose(C)))[1]) ** 2
S: np.linalg.eig(S + np.transpose(S)).eigenvalues
S: np.abs(np.linalg.eig(S @ np.transpose(S) + np.diag([1.0, 2.0, 3.0]))[1]) ** 2
S: np.linalg.eigvals(S)
S: np.real(np.sum(np.linalg.eigvals(np.cross(S, np.ones(3))) ** 3))
C: np.abs(np.linalg.eig(C)[1]) ** 2
M: np.linalg.norm(M)
M: np.linalg.norm(M, 'fro', keepdims=True)
T: np.linalg.norm(T)
T: np.linalg.norm(T, keepdims=True)
v: np.linalg.norm(v, 2)
v: np.linalg.norm(v, 1)
v: np.linalg.norm(v, np.inf)
v: np.linalg.norm(v, -np.inf)
v: np.linalg.norm(v, 3)
v: np.linalg.norm(v, 0.5)
v: np.linalg.norm(v, -2)
M: np.linalg.norm(M, axis=1)
M: np.linalg.norm(M, 3, axis=0, keepdims=True)
M: np.linalg.norm(M, 1)
M: np.linalg.norm(M, -1)
M: np.linalg.norm(M, np.inf)
M: np.linalg.norm(M, -np.inf)
M: np.linalg.norm(M, 2)
M: np.linalg.norm(M, -2)
M: np.linalg.norm(M, 'nuc')
T: np.linalg.norm(T, 'nuc', axis=(2, 0))
T: np.linalg.norm(T, 2, axis=(0, 1), keepdims=True)
T: np.linalg.norm(T, axis=(-1, 0))
T: np.linalg.norm(T, 1, axis=(2, 1))
Z: np.linalg.norm(Z)
C: np.linalg.norm(C, 1)
T: np.linalg.matrix_norm(T)
T: np.linalg.matrix_norm(T, ord='nuc', keepdims=True)
T: np.linalg.vector_norm(T)
T: np.linalg.vector_norm(T, axis=(0, 2), ord=3, keepdims=True)
T: np.linalg.vector_norm(T, axis=1, ord=np.inf)
S: np.linalg.cond(S)
S: np.linalg.cond(S, -2)
S: np.linalg.cond(S, 1)
B: np.linalg.cond(B, 'fro')
T: np.linalg.matrix_transpose(T)
"""

FOURIER = """
v: np.fft.fft(v)
Z: np.fft.fft(Z)
v: np.fft.fft(v, n=6, norm='ortho')
M: np.fft.fft(M, 2, axis=0)
v: np.fft.ifft(v)
Z: np.fft.ifft(Z, norm='forward')
v: np.fft.rfft(v)
d: np.fft.rfft(d)
M: np.fft.rfft(M, n=5, axis=0)
M: np.fft.rfft(M, n=3, norm='ortho')
v: np.fft.irfft(v)
Z: np.fft.irfft(Z)
Z: np.fft.irfft(Z, 5)
Z: np.fft.irfft(Z, 3, norm='forward')
M: np.fft.irfft(M, axis=0)
v: np.fft.hfft(v)
Z: np.fft.hfft(Z, 5)
v: np.fft.ihfft(v)
d: np.fft.ihfft(d, norm='ortho')
M: np.fft.fft2(M)
M: np.fft.ifft2(M)
T: np.fft.fftn(T)
T: np.fft.fftn(T, axes=(0, 2), norm='ortho')
T: np.fft.ifftn(T, s=(3, 2), axes=(0, 2))
M: np.fft.rfft2(M)
M: np.fft.irfft2(M)
T: np.fft.rfftn(T)
T: np.fft.rfftn(T, s=(4, 5), axes=(2, 0))
C: np.fft.irfftn(C)
C: np.fft.irfft2(C, s=(2, 3))
"""

SERIES = """
s, d: np.linspace(s, 2.0, 5)
d: np.linspace(d, 1.0, 4, endpoint=False, axis=-1)
s: np.linspace(0, s, 3, retstep=True)
s: np.linspace(s, 1.0, 1)
s: np.logspace(s, 2.0, 4)
s, d: np.logspace(s, 1.0, 3, base=d + 2.0)
s: np.geomspace(s, 2.0, 4)
d: np.geomspace(d, d * 3, 4, endpoint=False, axis=1)
Z: np.geomspace(Z, 2.0, 4)
M: np.apply_along_axis(lambda x: np.cumsum(x)[:2], 0, M)
T: np.apply_along_axis(np.sum, 1, T)
M: np.apply_along_axis(np.outer, 1, M, np.ones(2))
T: np.apply_over_axes(np.sum, T, [0, 2])
d: np.vander(d)
d: np.vander(d, 4, increasing=True)
v: np.poly(v)
S: np.poly(S)
v, d: np.polyadd(v, d)
v, d: np.polysub(d, v)
v, d: np.polymul(v, d)
v, d: np.polydiv(v, d)
v: np.polyder(v)
v: np.polyder(v, 2)
v: np.polyint(v)
v, s: np.polyint(v, 2, k=[s, 1.0])
v: np.roots(v)
v: np.roots(np.concatenate([np.zeros(1), v, np.zeros(2)]))
v, w: np.polyfit(w, v, 2)
v, N: np.polyfit(np.arange(4.0), N, 1, w=v)
v: np.polyfit(np.arange(4.0), v, 1, full=True)[:2]
v: np.polyfit(np.arange(4.0), v, 1, cov=True)
Z: np.sort_complex(Z)
"""

LISTS = {
    "shapes": SHAPES, "joins": JOINS, "edits": EDITS, "selections": SELECTIONS, "products": PRODUCTS,
    "matrices": MATRICES, "fourier": FOURIER, "series": SERIES,
}  # fmt: skip
ROWS = [
    pytest.param(code, tuple(dict.fromkeys(name.strip() for name in names.split(","))), id=code, marks=newer(code))
    for rows in LISTS.values()
    for names, _, code in (row.partition(": ") for row in rows.strip().splitlines())
]

#: not those in float32, for which differences are too coarse
SMOOTH = [row for row in ROWS if "float32" not in str(row.values[0]) and row.values[1] != ("f",)]


@pytest.mark.parametrize(("code", "names"), ROWS)
def test_our_functions_give_numpys_values_on_arrays(code: str, names: tuple[str, ...]) -> None:
    check_values(code, {name: INPUTS[name] for name in names}, Ours(np), 1e-12)


@pytest.mark.parametrize(("code", "names"), ROWS)
def test_numpys_functions_give_their_values_on_tensors(code: str, names: tuple[str, ...]) -> None:
    check_values(code, {name: INPUTS[name] for name in names}, np, 1e-12)


@pytest.mark.parametrize(("code", "names"), SMOOTH)
def test_gradients_agree_with_differences(code: str, names: tuple[str, ...]) -> None:
    check_gradient(code, {name: INPUTS[name] for name in names}, order=2)
