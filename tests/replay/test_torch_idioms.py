"""What is usual in PyTorch's training steps is replayed, and does with other data what it does uncompiled."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

import srcdiff as sd
from srcdiff import nn

#: what is done with the output h of a layer, the batch x, classes i and a mask m; W and E are parameters
IDIOMS = """
h.view(-1)
h.view(h.size(0), -1)
h.view(2, 4, 4).permute(1, 0, 2).contiguous().view(4, 8)
h.flatten()
h.flatten(1)
h.gather(1, i.view(-1, 1))
torch.gather(h, 1, i[:, None])
h[torch.arange(8), i]
h[range(8), i]
h.index_select(0, i)
h.masked_fill(h > 0, 0.0)
h.masked_fill(m, -1e9).softmax(-1)
torch.where(h > 0, h, torch.zeros_like(h))
F.one_hot(i, 4).float() * h
torch.zeros(8, 4).scatter_add(0, i[:, None].expand(8, 4), h)
torch.zeros(4, 4).index_add(0, i, h)
F.cross_entropy(h, i)
F.nll_loss(F.log_softmax(h, 1), i)
F.embedding(i, E)
E[i]
h.topk(2, dim=1)[0]
h.topk(2, dim=1).values
h.sort(dim=1)[0]
h.max(dim=1)[0]
h.max()
h.argmax(1).float()
h.norm()
h.norm(dim=1)
F.normalize(h, dim=1)
h.clamp(-1, 1)
h.clamp(min=0)
torch.einsum('bi,bj->bij', h, h)
torch.bmm(h.view(8, 2, 2), h.view(8, 2, 2))
h @ h.t()
h.T
h.unsqueeze(1).expand(8, 3, 4)
torch.cat([h, x], dim=1)
torch.stack([h, x])
h.chunk(2, dim=1)[0]
h.split(2, dim=1)[1]
torch.cumsum(h, 0)
torch.tril(h @ h.T)
torch.triu(torch.ones(8, 8), 1) * (h @ h.T)
h.masked_fill(torch.tril(torch.ones(8, 4)) == 0, float('-inf')).softmax(1)
F.layer_norm(h, (4,))
F.dropout(h, 0.5)
F.relu(h)
F.gelu(h)
F.leaky_relu(h)
F.softmax(h, dim=-1)
F.mse_loss(h, x)
F.l1_loss(h, x)
F.smooth_l1_loss(h, x)
F.binary_cross_entropy_with_logits(h, (x > 0).float())
F.binary_cross_entropy(torch.sigmoid(h), (x > 0).float())
F.kl_div(F.log_softmax(h, 1), F.softmax(x, 1), reduction='batchmean')
F.cosine_similarity(h, x)
torch.cdist(h, x)
F.conv1d(h.view(2, 4, 4), W.view(4, 4, 1))
F.conv2d(h.view(1, 2, 4, 4), W.view(2, 2, 2, 2))
F.max_pool2d(h.view(1, 2, 4, 4), 2)
F.avg_pool2d(h.view(1, 2, 4, 4), 2)
F.pad(h, (1, 1))
h.mean(0, keepdim=True)
h.std(dim=0, unbiased=False)
torch.logsumexp(h, 1)
h.prod(1)
h.abs().sum()
h.pow(2)
h ** 2
h.exp().log1p()
torch.outer(h[0], h[1])
torch.dot(h[0], h[1])
torch.mm(h, W)
torch.matmul(h, W)
torch.addmm(h[0], x, W)
h.diagonal()
torch.diag(h[:4])
torch.linalg.norm(h)
torch.linalg.solve(W, h.T)
torch.linalg.inv(W + 3 * torch.eye(4))
torch.det(W)
torch.logdet(W @ W.T + torch.eye(4))
torch.linalg.cholesky(W @ W.T + torch.eye(4))
h[:, [0, 2]]
h[..., None]
h[::2]
h[-1]
h.roll(1, 0)
h.flip(0)
h.squeeze()
h.reshape(-1, 2)
h.unfold(1, 2, 1)
torch.chunk(h, 2, 1)[1]
torch.meshgrid(h[0], h[1], indexing='ij')[0]
torch.linspace(0, 1, 4) * h
torch.arange(4).float() * h
torch.full((8, 4), 2.0) * h
torch.randn(8, 4) * h
torch.rand_like(h) * h
torch.randn_like(h) * h
(torch.rand(8, 4) < 0.5) * h
h * (h > 0)
h * (h > 0).float()
h.detach() * h
h.clone()
h.float()
h.double().float()
h.to(torch.float32)
h.type_as(x)
h.new_zeros(8, 4) + h
torch.tensor([1.0, 2.0, 3.0, 4.0]) * h
torch.ones_like(h) * h
h.mul(2).add(1).sub(x).div(3)
torch.lerp(h, x, 0.5)
torch.minimum(h, x)
torch.max(h, x)
torch.amax(h, dim=1)
torch.isnan(h).any()
torch.nan_to_num(h)
torch.sign(h) * h
torch.atan2(h, x)
h.nelement() * h
h.numel() * h
h.dim() * h
h.size(1) * h
h.shape[0] * h
len(h) * h
torch.nn.functional.elu(h)
F.softplus(h)
F.hardtanh(h)
F.silu(h)
F.log_softmax(h, -1)[torch.arange(8), i]
F.glu(h)
F.pairwise_distance(h, x)
F.triplet_margin_loss(h, x, x * 2)
F.huber_loss(h, x)
F.embedding(i, E).mean(0)
F.group_norm(h.view(2, 4, 4), 2)
F.batch_norm(h, torch.zeros(4), torch.ones(4), training=True)
torch.kron(h[:2], h[:2])
torch.tensordot(h, W, dims=1)
torch.heaviside(h, torch.zeros(1)) * h
torch.fft.fft(h).abs()
h.scatter(1, i[:, None], 0.0)
h.take(i)
h.narrow(1, 0, 2)
h.select(1, 0)
h.unbind(0)[1]
h.movedim(0, 1)
h.tile(2)
h.swapaxes(0, 1)
h.softmax(dim=1)
h.sigmoid()
h.tanh()
h.relu()
h.square()
h.sum(1, keepdim=True)
h.cumprod(1)
h.all()
h.argsort(1).float()
h.eq(x).float()
h.isfinite().all()
h.logsumexp(1)
h.expand_as(x)
h.view_as(x)
h.reshape_as(x)
h.triu()
h.repeat_interleave(2, dim=0)
torch.cartesian_prod(h[0], h[1])
h.square().sqrt_()
h.clone().neg_()
h.clone().relu_()
h.clone().tanh_()
h.clone().sigmoid_()
h.clone().round_()
h.clone().add_(x).mul_(2).sub_(1).div_(3)
h.new_ones(8, 4) * h
h.new_full((8, 4), 2.0) * h
torch.tensor([[1.0, 2.0], [3.0, 4.0]]).sum() * h
torch.tensor(2.0) * h
torch.tensor(x.shape[0]) * h
torch.tensor([x.shape[1] * 1.0]) * h
x.new_zeros(4) + h
h.to(torch.float64).sum()
h.to(x) * 2
h.to('cpu')
h.take_along_dim(i[:, None], 1)
torch.var_mean(h)[0]
torch.std_mean(h, 0)[1]
h.unfold(0, 2, 2)
torch.fft.rfft(h).abs()
torch.fft.ifft(torch.fft.fft(h)).real
h.topk(2)[1].float() * 0.1 + h.sum()
h.argmax().float() * h.sum()
F.one_hot(h.argmax(1), 4).float() * h
h.gather(1, h.argmax(1, keepdim=True))
h.index_select(1, h[0].argsort())
h.count_nonzero().float() * h.sum()
h.eq(h.max()).float() * h
torch.eq(i, 2).float()[:, None] * h
(i == 2).float()[:, None] * h
(h.argmax(1) == i).float().mean() * h.sum()
torch.where(i[:, None] > 1, h, -h)
h.type_as(x.double()).sum()
h.dist(x)
h.masked_fill(i[:, None] == 1, -1.0)
torch.baddbmm(h.view(2, 4, 4), h.view(2, 4, 4), h.view(2, 4, 4))
F.threshold(h, 0.1, 0.0)
F.softmin(h, 1)
F.hinge_embedding_loss(h, torch.where(m, 1.0, -1.0))
F.margin_ranking_loss(h, x, torch.where(m, 1.0, -1.0))
F.cosine_embedding_loss(h, x, torch.where(i > 1, 1, -1))
h[(0, 1), (1, 2)]
h[[0, 1], i[:2]]
x.view(-1)[i] * h.sum()
h.t().contiguous().view(-1)
h.view(8, 2, 2).transpose(1, 2).reshape(8, 4)
h.index_add(0, i, x)
h.index_copy(0, torch.arange(8), x)
h.index_fill(0, i, 0.5)
""".strip().split("\n")

#: these run as written: what they give depends on values, or they change memory in a way that is not looked into
WRITTEN = [
    "h.sum().item() * h", "h.masked_select(m).sum()", "h.repeat_interleave(i, 0)",
    "torch.bincount(i, minlength=4).float() * h[0]", "h.clone().masked_fill_(m, 0.0)", "h.median(dim=1)[0]",
    "torch.zeros(8, 4).scatter_(1, i[:, None], 1.0) * h", "torch.quantile(h, 0.5)",
]  # fmt: skip

STEP = """
def step(x, i, m):
    h = layer(x)
    loss = (({idiom}) * 1.0).mean() + h.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss
"""


def trained(idiom: str, replay: str) -> tuple[list[Any], Any]:
    """The losses and the parameters after training; the data is the same until the step is replayed, then other."""
    sd.manual_seed(0)
    layer, w, e = nn.Linear(4, 4), sd.randn(4, 4, requires_grad=True), sd.randn(10, 4, requires_grad=True)
    optimizer = sd.optim.SGD([w, e, *layer.parameters()], lr=0.01)
    text = STEP.format(idiom=idiom)
    linecache.cache["<idiom>"] = (len(text), None, text.splitlines(True), "<idiom>")
    scope = {"torch": sd, "F": nn.functional, "layer": layer, "optimizer": optimizer, "W": w, "E": e}
    exec(compile(text, "<idiom>", "exec"), scope)
    step: Any = sd.compile(scope["step"])
    found: list[Any] = []
    with sd.config(replay=replay):
        for k in range(8):
            rng = np.random.default_rng(max(k - 2, 0))
            x, i, m = rng.standard_normal((8, 4)).astype(np.float32), rng.integers(0, 4, 8), rng.random((8, 4)) > 0.5
            found.append(float(step(sd.tensor(x), sd.tensor(i), sd.tensor(m)).detach()))
    return found + [p.detach().numpy() for p in (w, e, *layer.parameters())], step


@pytest.mark.parametrize("idiom", IDIOMS + WRITTEN)
def test_idioms_of_training_steps(idiom: str) -> None:
    (found, step), (expected, _) = trained(idiom, "auto"), trained(idiom, "never")
    assert (step.cache_info().replayed > 0) is (idiom in IDIOMS), step._player.failures
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_position_out_of_bounds_is_an_error_of_the_replay_too() -> None:
    def step(x: Any, i: Any) -> Any:
        return sd.gather(x * 2, 1, i).sum()

    compiled, x = sd.compile(step), sd.randn(3, 4)
    for _ in range(5):
        compiled(x, sd.tensor([[0], [1], [3]]))
    assert compiled.cache_info().replayed
    for wrong in (-1, 4):
        with pytest.raises(RuntimeError, match="out of bounds"):
            compiled(x, sd.tensor([[0], [wrong], [3]]))


def test_a_step_that_returns_a_list_of_its_own() -> None:
    w = sd.ones(2, requires_grad=True)

    def step(x: Any) -> Any:
        found = []
        found.append((w * x).sum().detach())
        return found

    compiled = sd.compile(step)
    for _ in range(6):
        made = compiled(sd.ones(2))
    assert compiled.cache_info().replayed == 3 and [float(v) for v in made] == [2.0]


def test_a_step_that_computes_nothing() -> None:
    w = sd.ones(2, requires_grad=True)
    optimizer = sd.optim.SGD([w], lr=0.1)

    def step() -> tuple[int, ...]:
        optimizer.zero_grad()
        return (1,)

    compiled = sd.compile(step)
    assert [compiled() for _ in range(6)] == [(1,)] * 6
    assert compiled.cache_info().replayed == 3


def test_contiguous_is_contiguous() -> None:
    x = sd.tensor(np.arange(16.0).reshape(2, 2, 4), requires_grad=True)
    turned = x.permute(1, 0, 2)
    made = turned.contiguous()
    assert made.is_contiguous() and not turned.is_contiguous() and made.stride() == (8, 4, 1)
    np.testing.assert_array_equal(made.view(2, 8).detach().numpy(), turned.detach().numpy().reshape(2, 8))
    (made.view(2, 8) * sd.arange(16.0).view(2, 8)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.arange(16.0).reshape(2, 2, 4).transpose(1, 0, 2))


class Net(nn.Module):
    """A method of its own whose name texts have, too; dropout before pooling, whose derivative makes arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(36, 3)

    def encode(self, x: Any) -> Any:
        h = nn.functional.dropout(nn.functional.relu(self.norm(self.first(x))), 0.25, training=self.training)
        return nn.functional.max_pool2d(h, 2).view(x.size(0), -1)

    def forward(self, x: Any) -> Any:
        return self.last(self.encode(x))


@pytest.mark.parametrize("exact", [False, True])
def test_a_convolutional_network_that_is_told_to_train(exact: bool) -> None:
    def run(replay: str) -> tuple[list[Any], Any]:
        sd.manual_seed(0)
        net = Net()
        optimizer = sd.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

        @sd.compile
        def step(x: Any, i: Any) -> Any:
            net.eval()
            with sd.no_grad():
                before = net(x).argmax(1)
            net.train()
            loss = nn.functional.cross_entropy(net(x), i)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss, (before == i).float().mean()

        found: list[Any] = []
        with sd.config(replay=replay, exact=exact):
            for k in range(9):
                rng = np.random.default_rng(max(k - 2, 0))
                x, i = rng.standard_normal((5, 1, 8, 8)).astype(np.float32), rng.integers(0, 3, 5)
                found += [v.detach().numpy() for v in step(sd.tensor(x), sd.tensor(i))]
                if k == 6:
                    net.eval()  # the step sets it back
        return found + [p.detach().numpy() for p in (*net.parameters(), *net.buffers())] + [net.training], step

    (found, step), (expected, _) = run("auto"), run("never")
    assert step.cache_info().replayed >= 4, step._player.failures
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0 if exact else 1e-3, atol=0 if exact else 1e-5)
