"""The pieces that random worlds are made of: lines of code, apart from each other by empty lines.

`@` stands for a name of the piece's own, `<:a|b|c:>` for one of these. What a model's `__init__` makes stands above
`---`.
"""

from __future__ import annotations

Pieces = tuple[list[str], list[str]]


def _pieces(text: str) -> Pieces:
    """The common ones, and those that are seldom chosen, which stand below a line of their own."""
    common, _, seldom = text.partition("\nSELDOM\n")
    return _split(common), _split(seldom)


def _split(text: str) -> list[str]:
    return [part.strip("\n") + "\n" for part in text.split("\n\n") if part.strip("\n")]


HEAD = """\
import copy
import math
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, replace
from types import SimpleNamespace
import numpy as np
from srcdiff import nn
F = nn.functional

LOG = []
KEPT = []
COUNT = 0
RATE = 0.1
SCALE = 1.5
MODE = "plain"
TABLE = {"a": 0.5, "b": [1.0, 2.0]}
WEIGHTS = [0.5, 1.0]
OFFSET = sd.tensor([0.25, -0.5])
LIMIT = np.array([0.5, 2.0])
Pair = namedtuple("Pair", "x y")

@dataclass
class Batch:
    x: object
    y: object

@dataclass
class Report:
    loss: object
    count: int = 0

class Block(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.slope = slope
    def bend(self, h):
        return sd.where(h > 0, h, self.slope * h)
    @property
    def twice(self):
        return 2 * self.slope
    def forward(self, h):
        return self.bend(self.inner(h)) * self.twice

class Meter:
    def __init__(self):
        self.total = 0.0
        self.factor = 0.5
    def scaled(self, loss):
        return loss * self.factor

METER = Meter()

class Slotted:
    __slots__ = ("factor", "offset", "seen")
    def __init__(self):
        self.factor = 0.5
        self.offset = np.array([0.5, 1.0], np.float32)

@dataclass
class Setting:
    size: float
    mode: str = "a"

OPTIONS = SimpleNamespace(scale=1.5, mode="plain", offset=sd.tensor([0.5, 0.25]), parts=[0.5, 2.0])
SLOTS = Slotted()
SETTING, OTHER = Setting(1.0), Setting(1.0)
PAIR = Pair(0.75, [1.0, 0.5])
QUEUE = deque([0.5, 1.5], maxlen=3)
ORDERED = OrderedDict(a=0.5, b=1.5)
DEFAULTS = defaultdict(float, a=0.5)

def penalty(parameters, weight=0.01):
    return weight * sum((p ** 2).sum() for p in parameters)
"""

#: from x, of shape (batch, 3), to h, of shape (batch, 4)
FIRST = _pieces("""
self.first = nn.Linear(3, 4, bias=<:True|False:>)
---
h = self.first(x)

self.first = nn.Linear(3, 4)
---
h = self.first(x)

self.first = nn.Sequential(nn.Linear(3, 4), nn.<:Tanh|ReLU|GELU|SiLU|Softplus:>(), nn.Dropout(<:0.0|0.5:>))
---
h = self.first(x)

self.first = nn.Conv1d(1, 4, 2, padding=<:0|1:>)
---
h = self.first(x[:, None, :]).<:mean|amax|sum:>(axis=2)

self.first = nn.Conv2d(1, 4, 2, stride=<:1|2:>)
self.norm = nn.<:BatchNorm2d(4)|BatchNorm2d(4, track_running_stats=False)|Identity():>
---
h = self.norm(self.first(x[:, None, :, None] * x[:, None, None, :])).mean(axis=(2, 3))

self.first = nn.Embedding(10, 4<:|, padding_idx=0:>)
---
h = self.first((x * 2)<:.long()|.astype(int):> % 10).<:mean|sum:>(axis=1)

self.first = nn.Bilinear(3, 3, 4)
---
h = self.first(x, <:x|2 * x:>)

self.first = nn.Parameter(sd.randn(3, 4))
---
h = x @ self.first
""")

MIDDLE = _pieces("""
h = <:sd.tanh|np.tanh|F.relu|F.gelu|F.silu|sd.sigmoid|sd.sin|np.abs:>(h)

h = h + <:h.tanh()|h * h|0.5|SCALE|sd.ones(4)|np.ones(4, np.float32)|h.mean()|h.detach():>

self.@ = nn.Linear(4, 4)
---
h = h + sd.tanh(self.@(h))

self.@ = nn.Linear(4, 4)
---
h = self.@(sd.tanh(self.@(h)))

self.@ = nn.Linear(4, 4, bias=False)
self.@.weight.requires_grad_(False)
---
h = self.@(h)

self.@ = nn.Dropout(<:0.5|0.1:>)
---
h = self.@(h)

h = F.dropout(h, 0.3, <:self.training|True:>)

self.@ = nn.<:LayerNorm(4)|GroupNorm(2, 4)|RMSNorm(4):>
---
h = self.@(h)

self.@ = nn.BatchNorm1d(4<:|, momentum=None|, affine=False:>)
---
h = self.@(h)

self.@ = nn.BatchNorm1d(4)
---
h = self.@(self.@(h))

self.@ = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
---
for layer in self.@:
    h = sd.tanh(layer(h))

self.@ = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
---
h = self.@[<:"a"|"b"|"a" if self.training else "b":>](h)

self.@ = Block(<:0.1|0.25:>)
---
h = self.@(h)

self.@ = nn.Parameter(sd.ones(<:4|1:>))
---
h = h * self.@

self.@ = nn.ParameterList([nn.Parameter(sd.ones(4)), nn.Parameter(sd.zeros(4))])
---
h = h * self.@[0] + self.@[1]

self.register_buffer("@", sd.full((4,), 0.5))
---
h = h + self.@

self.register_buffer("@", sd.zeros(4))
---
if self.training:
    with sd.no_grad():
        self.@.mul_(0.9).add_(0.1 * h.detach().mean(axis=0))
h = h - self.@

self.@ = [0.5, 1.5]
---
for w in self.@:
    h = h * w

self.@ = sd.full((4,), 0.5)
---
h = h * self.@

if self.training:
    h = h * 0.9

h = sd.softmax(h @ h.T, -1) @ h

h = sd.<:cat|concatenate:>([h[:, 2:], h[:, :2]], <:1|-1:>)

h = h.reshape(-1, 2, 2).<:transpose(0, 2, 1)|mT|permute(0, 2, 1):>.reshape(-1, 4)

h = np.where(h > 0, h, <:0.1 * h|0.0:>)

h = h.clone()
h[:, 0] = <:0.0|h[:, 1]|1.5:>

h = h * 1
h <:+=|*=|-=:> <:0.5|h.detach()|SCALE:>

h = h.clone().<:mul_(0.5)|add_(1.0)|clamp_(-1, 1)|sub_(OFFSET[0]):>

h = h + 0.1 * sd.<:randn_like(h)|rand_like(h)|randn(4)|rand(len(h), 4):>

self.@ = nn.PReLU()
---
h = self.@(h)

h = h / <:(h * h).sum(axis=1, keepdims=True).sqrt().clip(0.1)|(1 + abs(h).max())|SCALE:>

with sd.no_grad():
    size = <:np.std(h)|h.abs().max() + 1:>
h = h / <:size|(size + 1):>

h = <:sd.cumsum(h, 1)|np.sort(h, axis=1)|h[:, [0, 0, 3, 1]]|sd.flip(h, (1,))|np.einsum('ij,ik->ij', h, h):>

h = h.max(axis=1, keepdims=True) + 0 * h

SELDOM

self.register_buffer("@", sd.zeros(()))
---
with sd.no_grad():
    self.@ += 1
h = h / (1 + 0.01 * self.@)

self.@ = 0
---
self.@ += 1
h = h * (1 + 0.1 * self.@)

if <:h.mean() > 0|(h > 1).any()|sd.all(h < 2)|h.sum().item() > 0:>:
    h = h * 2
""")

DEFINITIONS = _pieces("""
def extra(loss):
    return loss * 1.5

def extra(loss, weight=0.5):
    if loss > 1.0:
        return loss * weight
    return loss

def extra(loss):
    return loss + penalty(model.parameters())

extra = METER.scaled

SELDOM

def extra(loss):
    global COUNT
    COUNT += 1
    return loss
""")

OPTIMIZERS = _pieces("""
optimizer = sd.optim.SGD(model.parameters(), lr=<:0.1|0.01:>)

optimizer = sd.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=<:True|False:>, weight_decay=<:0|0.01:>)

optimizer = sd.optim.SGD(model.parameters(), lr=0.1, momentum=0.5, dampening=0.1, maximize=<:True|False:>)

optimizer = sd.optim.<:Adam|AdamW:>(model.parameters(), lr=<:0.1|0.01:>)

optimizer = sd.optim.<:Adam|AdamW:>(model.parameters(), lr=0.02, betas=(0.5, 0.9), weight_decay=0.1,
    amsgrad=<:True|False:>)

optimizer = sd.optim.RMSprop(model.parameters(), lr=0.01, centered=<:True|False:>, momentum=<:0|0.5:>)

optimizer = sd.optim.Adagrad(model.parameters(), lr=0.05, lr_decay=<:0|0.1:>, weight_decay=<:0|0.1:>)

others = [p for n, p in model.named_parameters() if n[:3] != "out"]
optimizer = sd.optim.SGD([{"params": model.out.parameters(), "lr": 0.2}, {"params": others}],
    lr=0.05, momentum=<:0|0.9:>)

others = [p for p in model.parameters() if p is not model.out.weight and p.requires_grad]
optimizer = sd.optim.Adam([{"params": [model.out.weight], "weight_decay": 0.1}, {"params": others}], lr=0.05)
""")

SCHEDULES = _pieces("""
schedule = sd.optim.lr_scheduler.StepLR(optimizer, <:1|3:>, 0.5)

schedule = sd.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

schedule = sd.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5)

schedule = sd.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))

schedule = sd.optim.lr_scheduler.LinearLR(optimizer, 0.5, 1.0, 4)

schedule = sd.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
""")

CLEARING = _pieces("""
optimizer.zero_grad()

optimizer.zero_grad()

optimizer.zero_grad(set_to_none=<:True|False:>)

model.zero_grad(<:|False|set_to_none=False:>)

for p in model.parameters():
    p.grad = None

for p in model.parameters():
    if p.grad is not None:
        p.grad.<:zero_()|fill_(0.0)|data.zero_()|mul_(0.5):>

pass
""")

LOSSES = _pieces("""
loss = F.cross_entropy(out, y<:|, label_smoothing=0.1|, reduction='sum':>)

loss = F.cross_entropy(out, y)

loss = nn.CrossEntropyLoss()(out, y)

loss = F.cross_entropy(out, y)
loss <:+=|*=:> 1.0 + penalty(model.parameters())

loss = ((out[:, 0] - y) ** 2).mean()

loss = F.<:mse_loss|l1_loss|smooth_l1_loss|huber_loss:>(out[:, 1], <:y.float()|y * 1.0:>)

loss = F.binary_cross_entropy_with_logits(out[:, 0], <:y.float()|y * 1.0:>)

loss = np.mean((out - OFFSET) ** 2)

loss = F.cross_entropy(out, y) + penalty(model.parameters())

loss = extra(F.cross_entropy(out, y))

loss = sum(F.cross_entropy(out[s], y[s]) for s in (slice(0, 2), slice(2, None)))

loss = F.nll_loss(F.log_softmax(out, 1), y) * METER.factor

loss = (out ** 2).mean() + sum(w * out[:, i].mean() for i, w in enumerate(WEIGHTS))

loss = F.cross_entropy(out * TABLE['a'], y) * k

loss = -(sd.log_softmax(out, -1)[sd.arange(len(y)), y]).mean()

loss = F.cross_entropy(out * <:OPTIONS.scale|SLOTS.factor|PAIR.x|QUEUE[0]|ORDERED['b']|DEFAULTS['a']|SETTING.size:>, y)

loss = F.cross_entropy(out + <:OPTIONS.offset|SLOTS.offset|PAIR.y[0]|sum(QUEUE)|sum(ORDERED.values()):>, y)

loss = F.cross_entropy(out, y) * sum(<:OPTIONS.parts|PAIR.y|QUEUE:>)

loss = np.sum(np.clip(out, -LIMIT[1], LIMIT[1]) ** 2) / len(x)
""")

#: between loss and update, and before and after them
EXTRAS = _pieces("""
try:
    weight = TABLE[MODE]
except KeyError:
    weight = 1.0

try:
    out = out + OFFSET * x[3, 0]
except IndexError:
    out = out + OFFSET

if any(p.grad is None for p in model.parameters()):
    out = out * 0.75

largest = max((p.grad.abs().max() for p in model.parameters() if p.grad is not None), default=None)

def scaled(t, by=SCALE):
    return t * by
out = scaled(scaled(out), <:0.5|k:>)

out = sum(row * (i + 1) for i, row in enumerate(out)) + out

out = out + math.sqrt(<:k + 1|RATE|len(x):>)

if <:model.out.weight.grad is None|model.training and k == 2|isinstance(k, int):>:
    out = out * 1.25

accuracy = (out.argmax(axis=1) == y).float().mean()

out = out * <:1.0|SCALE|k:>

if <:MODE == 'plain'|k > 1|RATE > 0.05|model.training|len(x) > 3:>:
    out = out * 0.5

with sd.no_grad():
    score = model(x).argmax(axis=1)

with sd.no_grad():
    norm = sum((p ** 2).sum() for p in model.parameters()).sqrt()

if <:out.sum() > 0|out[0, 0] > out[0, 1]|sd.isnan(out).any()|out.max() > 3.0:>:
    out = out + 0.1

if <:SETTING == OTHER|SETTING in [OTHER]|OPTIONS.mode == 'plain'|hasattr(SLOTS, 'seen')|len(QUEUE) > 2:>:
    out = out * 1.5

out = out * <:len(f'{SETTING}')|replace(SETTING, mode='b').size|next(iter(ORDERED.values()))|DEFAULTS.get('b', 0.5):>

frozen = out.detach()

h = [p * 2 for p in model.parameters()]

teacher = ema(x).detach()

with sd.no_grad():
    teacher = ema(x)

SELDOM

out.register_hook(lambda g: g * 2)

out.retain_grad()

for p in ema.parameters():
    p.requires_grad_(False)
""")

RUNS = _pieces("""
loss.backward()

loss.backward()

loss.backward()

loss.backward(retain_graph=True)
loss.backward()

(loss / 2).backward(retain_graph=True)
(loss * 0.5).backward()

loss.backward()
half = F.cross_entropy(model(x[:2]), y[:2])
half.backward()

loss.backward()
for s in (slice(0, 2), slice(2, 4)):
    part = F.cross_entropy(model(x[s]), y[s]) / 2
    part.backward()

if <:k|COUNT % 2 == 0|loss > 0.7:>:
    loss.backward()

pass

SELDOM

loss.backward(gradient=<:sd.tensor(2.0)|sd.ones(()):>)

sd.autograd.backward(loss)

grads = sd.autograd.grad(loss, list(model.parameters()), allow_unused=True)
for p, g in zip(model.parameters(), grads):
    p.grad = g

if <:loss.item() < 1e3|loss < 10|math.isfinite(loss.item())|not sd.isnan(loss):>:
    loss.backward()
""")

UPDATES = _pieces("""
optimizer.step()

optimizer.step()

optimizer.step()

nn.utils.clip_grad_norm_(model.parameters(), <:0.1|1.0|RATE:>)
optimizer.step()

nn.utils.clip_grad_value_(model.parameters(), <:0.05|0.5:>)
optimizer.step()

norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
optimizer.step()

optimizer.step()
schedule.step()

with sd.no_grad():
    for p in model.parameters():
        if p.grad is not None:
            p <:-=|+=:> RATE * p.grad

with sd.no_grad():
    for p in model.parameters():
        if p.grad is not None:
            p.<:sub_(RATE * p.grad)|add_(p.grad, alpha=-RATE)|copy_(p - RATE * p.grad):>
            p.grad = None

for p in model.parameters():
    if p.grad is not None:
        p.data <:-=|*=:> RATE * p.grad<:|.data:>

for p in model.parameters():
    if p.grad is not None:
        p.grad.mul_(0.5)
optimizer.step()

SELDOM

optimizer.step()
with sd.no_grad():
    for p in model.parameters():
        p.<:clamp_(-1, 1)|mul_(0.9)|fill_(0.5)|view(-1)[0].mul_(0.5)|copy_(p.abs()):>

optimizer.step()
if not isinstance(schedule, sd.optim.lr_scheduler.ReduceLROnPlateau):
    schedule.step()

schedule.step(loss)
optimizer.step()

for group in optimizer.param_groups:
    group['lr'] *= 0.9
optimizer.step()

optimizer.step()
for _ in range(<:1|2:>):
    <:optimizer.zero_grad()|model.zero_grad()|pass:>
    again = F.cross_entropy(model(x), y) + <:0.1|loss.detach()|out.detach().mean():>
    again.backward()
    <:optimizer.step()|nn.utils.clip_grad_norm_(model.parameters(), 1.0):>

before = [p.detach().clone() for p in model.parameters()]
optimizer.step()
with sd.no_grad():
    for p, b in zip(model.parameters(), before):
        p.<:copy_(0.5 * (p + b))|sub_(0.1 * (p - b))|lerp_(b, 0.5):>

def closure():
    optimizer.zero_grad()
    again = F.cross_entropy(model(x), y)
    again.backward()
    return again
optimizer.step(closure)
""")

#: at the end
AFTERWARDS = _pieces("""
with sd.no_grad():
    for e, p in zip(ema.parameters(), model.parameters()):
        e.<:mul_(0.9).add_(0.1 * p)|copy_(0.9 * e + 0.1 * p)|lerp_(p, 0.1)|add_(0.1 * (p - e)):>

for e, p in zip(ema.parameters(), model.parameters()):
    e.data <:= 0.9 * e.data + 0.1 * p.data|+= 0.1 * (p.data - e.data):>

optimizer.zero_grad()

SELDOM

LOG.append(<:loss.item()|len(LOG)|float(loss):>)

print(<:k|'step'|f'{loss.item():.2f}':>)

METER.total += loss.item()

model.eval()
with sd.no_grad():
    after = model(x).mean()
model.train()

for b in model.buffers():
    size = b.sum()

size = sum((<:p|p.detach()|p.data:> ** 2).sum() for p in model.parameters())

if model.out.weight.<:max() > 10|sum() > 0:>:
    LOG.append('large')

with sd.no_grad():
    loss = loss + model.out.weight.<:abs().mean()|T[0].sum():>

KEPT.append(loss)

value = loss.item()
""")

UNUSUAL = _pieces("""
if len(x) == 3:
    raise ValueError(f'a batch of {len(x)}')

assert y.max() < 2<:|, 'classes':>

if out.mean() > 1.0:
    raise RuntimeError('diverged')

x = x + 0.1 * sd.randn_like(x)

x = x[:, [0, 2, 1]]

model.eval()

if len(x) < 3:
    return None

sd.manual_seed(k)

w = model.out.weight
w = w * 2

for _ in range(k):
    x = x * 0.9

y = y % 2

b = WEIGHTS
b += [0.5]

<:OPTIONS|METER|SETTING|model:>.data = k

w = DEFAULTS['new']

QUEUE.append(2.0)

TABLE['a'] = 0.75

with sd.set_grad_enabled(k > 1):
    z = (x * model.out.weight[0, 0]).sum()

SELDOM

model.train(<:k > 1|True:>)

global COUNT
COUNT += 1

x.add_(0.1)

handle = model.out.register_forward_hook(lambda m, i, o: o * 2)
handle.remove()

try:
    x = x * LIMIT[0]
finally:
    COUNT

model.out.bias.requires_grad_(<:True|False:>)

x = sd.tensor(x.numpy())
""")

RESULTS = _pieces("""
return loss

return loss

return loss.item()

return loss.detach()

return {'loss': loss.item(), 'k': k}

return loss, out

return loss.detach(), out.detach()

return Pair(loss.item(), k)

return [loss.item(), (out.argmax(axis=1) == y).sum().item()]

return out.detach()[0]

return None

pass

SELDOM

return Report(loss.item())

return model.out.weight.grad

return model.out.weight, loss.item()

return out.detach(), out.detach()

return loss.item() * 2

return float(loss)

return x, loss.item()
""")

TAIL = """
def extra_two(loss):
    return loss * 3.0

def step_two(x, y, k=2):
    optimizer.zero_grad()
    loss = ((model(x)) ** 2).mean()
    loss.backward()
    optimizer.step()
    return loss

class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 2)
    def forward(self, h):
        return self.inner(h) * 2
"""

#: what happens between two calls
ACTIONS = _pieces("""
for group in optimizer.param_groups: group['lr'] = 0.03

optimizer.param_groups[0]['weight_decay'] = 0.05

RATE = 0.2

SCALE = 2.0

MODE = 'other'

COUNT += 1

METER.factor = 0.25

TABLE['a'] = 0.25

WEIGHTS[0] = 0.75

OFFSET.fill_(0.75)

model.out.weight.data = model.out.weight.data * 0.5

model.out.weight.data.mul_(0.5)

model.out.weight.grad = None

model.out.weight.grad = sd.ones_like(model.out.weight)

model.out.bias.grad = model.out.bias.grad

for p in model.parameters(): p.grad = sd.full_like(p, 0.25)

for p in model.parameters(): p.grad = None

if model.out.weight.grad is not None: model.out.weight.grad.zero_()

if model.out.weight.grad is not None: KEPT.append(model.out.weight.grad)

if model.out.weight.grad is not None: KEPT.append(model.out.weight.grad[0])

if model.out.weight.grad is not None: model.out.weight.grad = model.out.weight.grad.clone()

KEPT.append(model.out.weight.detach())

KEPT.append(model.out.weight.data[0])

KEPT.append((model.out.weight * model.out.weight).sum())

KEPT.append(model.out.weight.view(-1))

with sd.no_grad(): model.out.weight[0] = 0.5

with sd.no_grad(): model.out.weight.add_(0.1)

HANDLE.remove()

model.__dict__.pop('forward', None)

model.load_state_dict(ema.state_dict())

model.load_state_dict({n: v * 0.5 for n, v in model.state_dict().items()})

optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))

optimizer.state_dict()['state'].clear()

optimizer.__dict__.pop('step', None)

ema = copy.deepcopy(model)

model.train()

OPTIONS.scale = <:2.0|0.5|1:>

OPTIONS.mode = 'other'

OPTIONS.parts[0] = 1.25

OPTIONS.offset.fill_(1.0)

SLOTS.factor = <:0.25|2:>

SLOTS.offset[0] = 0.25

SLOTS.seen = 1

SETTING.size = <:2.0|0.75:>

OTHER.mode = <:'a'|'other':>

PAIR = PAIR._replace(x=0.5)

PAIR.y[1] = 0.75

QUEUE.append(0.25)

QUEUE[0] = 1.25

ORDERED.move_to_end('a')

ORDERED['b'] = 2.5

DEFAULTS['b'] = 0.25

model.float()

FUNCTION.__defaults__ = (1,)

F = nn.functional

sd.manual_seed(7)

sd.rand(3)

for b in model.buffers(): b.fill_(0.5)

TABLE['plain'] = 2.0

TABLE.pop('plain', None)

for n, b in model.named_buffers(): KEPT.append(b)

gc.collect()

step.cache_clear() if hasattr(step, 'cache_clear') else None

sd.cache_clear() if hasattr(sd, 'cache_clear') else None

model.out.weight.data[:] = 0.1

np.copyto(model.out.weight.detach().numpy(), 0.25)

model.out.weight.detach().numpy()[0] += 0.5

SELDOM

SCALE = 2

METER = Meter()

WEIGHTS.append(0.1)

LIMIT[1] = 0.5

OPTIONS = SimpleNamespace(scale=0.75, mode="plain", offset=sd.tensor([1.0, 0.0]), parts=[1.0])

SLOTS = Slotted()

del SLOTS.factor

Setting.__eq__ = lambda self, other: False

Slotted.factor = 2.0

QUEUE = deque([0.25])

OFFSET = sd.tensor([1.0, 0.0])

OFFSET.requires_grad_()

model.out.weight.data = model.out.weight.data.double()

model.out.weight.grad = model.out.weight.detach()

KEPT[-1].backward()

model.out.weight.requires_grad_(False)

model.out.weight.requires_grad_(True)

for p in model.parameters(): p.requires_grad_(False)

for p in model.parameters(): p.requires_grad_(True)

model.out = nn.Linear(4, 2)

model.out = Wide()

model.out.weight = nn.Parameter(sd.ones(2, 4))

model.out.bias = None

model.out.bias = nn.Parameter(sd.zeros(2))

model.out.weight = model.out.weight

model.extra = nn.Linear(1, 1)

model.out.register_parameter('weight', nn.Parameter(sd.ones(2, 4) * 0.5))

if hasattr(model, 'norm'): model.norm = nn.Identity()

HANDLE = model.out.weight.register_hook(lambda g: g * 2)

HANDLE = model.out.weight.register_post_accumulate_grad_hook(lambda p: LOG.append(p.grad.sum().item()))

HANDLE = model.register_forward_hook(lambda m, i, o: o * 1.5)

HANDLE = model.out.register_forward_pre_hook(lambda m, i: (i[0] * 2,))

HANDLE = model.out.register_full_backward_hook(lambda m, i, o: LOG.append('hook'))

HANDLE = optimizer.register_step_post_hook(lambda *a: LOG.append('stepped'))

HANDLE = optimizer.register_step_pre_hook(lambda *a: LOG.append('steps'))

model.forward = lambda x: x[:, :2] * model.out.weight[0, 0]

Net.forward = lambda self, x: self.out(sd.ones(len(x), 4))

Block.bend = lambda self, h: sd.tanh(h)

Block.slope = 3.0

nn.Linear.mine = 1

optimizer.state.clear()

optimizer.step = lambda: LOG.append('mine')

optimizer = sd.optim.SGD(model.parameters(), lr=0.05)

optimizer.add_param_group({'params': [nn.Parameter(sd.ones(2))]})

model = copy.deepcopy(model)

ema = model

model.eval()

model.out.train(False)

model.double()

model.requires_grad_(True)

model.add_module('out', nn.Linear(4, 2, bias=False))

del model.out.bias

extra = extra_two

FUNCTION.__code__ = step_two.__code__

F = type('F', (), {'__getattr__': lambda self, name: getattr(nn.functional, name)})()

penalty = lambda parameters, weight=0.01: 0.5

penalty.__defaults__ = (0.5,)

model.register_buffer('extra_buffer', sd.ones(2))

model.out.weight.data, model.out.bias.data = model.out.weight.data, sd.zeros(2)

model.out.bias.data = model.out.weight.data[0, :2]

model.out.bias.data = model.out.weight.data[:, 0]

ema.out.weight.data = model.out.weight.data

ema.out.weight = model.out.weight

model.out.weight.grad = ema.out.weight
""")
