"""The cases of this benchmark that PyTorch has, on a GPU: a JSON line for each, in the same form.

    python3 crates/bench/pytorch.py --filter ew/,reduce/

A sample is as many calls as take about 30 ms, after a warm-up, and ends when the device has done
the work; the median of seven counts.
"""

import argparse
import json
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser(description=__doc__)
parser.formatter_class = argparse.RawDescriptionHelpFormatter
parser.add_argument("--filter", default="", help="beginnings of names, separated by commas")
parser.add_argument("--samples", type=int, default=7)
arguments = parser.parse_args()

MEGA, GIGA = 1 << 20, 1e9


def seconds(call):
    """The median of the seconds that a call takes, and the spread."""

    def sample(calls):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        return (time.perf_counter() - begin) / calls

    begin, calls = time.perf_counter(), 1
    while time.perf_counter() - begin < 0.1:
        once = sample(calls)
        calls *= 2
    taken = sorted(sample(max(1, int(0.03 / once))) for _ in range(arguments.samples))
    middle = statistics.median(taken)
    return middle, (taken[3 * len(taken) // 4] - taken[len(taken) // 4]) / middle


def case(name, metric, work, call):
    """Measures a case if it is wanted. `work` is what the metric counts, for one call."""
    prefixes = arguments.filter.split(",")
    if not any(name.startswith(prefix) for prefix in prefixes):
        return
    taken, spread = seconds(call)
    value = taken * 1e9 if metric == "ns" else work / taken
    line = {"peer": "torch-" + torch.__version__, "case": name, "metric": metric}
    print(json.dumps(line | {"value": float(f"{value:.5g}"), "spread": round(spread, 3)}), flush=True)


@torch.no_grad()
def without_gradients():
    a8, b8, m = torch.randn(8), torch.randn(8), torch.randn(64, 64)
    case("dispatch/add8", "ns", 1, lambda: a8 + b8)
    case("dispatch/transpose", "ns", 1, lambda: m.transpose(0, 1))
    case("dispatch/empty_1024B", "ns", 1, lambda: torch.empty(256))
    case("dispatch/zeros_1024B", "ns", 1, lambda: torch.zeros(256))
    for tag, n in (("1M", MEGA), ("16M", 16 * MEGA)):
        x, y, z = torch.randn(n), torch.randn(n), torch.randn(n)
        for name, bytes_, call in (
            ("add", 12, lambda: x + y),
            ("muladd", 16, lambda: x * y + z),
            ("exp", 8, lambda: x.exp()),
            ("relu", 8, lambda: x.relu()),
            ("gelu_erf", 8, lambda: F.gelu(x)),
            ("gelu_tanh", 8, lambda: F.gelu(x, approximate="tanh")),
            ("add_inplace", 12, lambda: y.add_(x)),
        ):
            case(f"ew/{name}_{tag}", "GB/s", bytes_ * n / GIGA, call)
    a, row, column = torch.randn(4096, 1024), torch.randn(1024), torch.randn(4096, 1)
    p, q = torch.randn(2048, 2048), torch.randn(2048, 2048)
    case("bcast/row_4096x1024", "GB/s", 8 * a.numel() / GIGA, lambda: a + row)
    case("bcast/col_4096x1024", "GB/s", 8 * a.numel() / GIGA, lambda: a + column)
    case("bcast/add_transposed_2048", "GB/s", 12 * p.numel() / GIGA, lambda: p + q.t())
    case("bcast/contiguous_t_2048", "GB/s", 8 * p.numel() / GIGA, lambda: q.t().contiguous())
    v, s = torch.randn(16 * MEGA), torch.randn(4096, 4096)
    weight, bias = torch.randn(1024), torch.randn(1024)
    read, both = 4 * s.numel() / GIGA, 8 * a.numel() / GIGA
    case("reduce/sum_all_16M", "GB/s", read, lambda: v.sum())
    case("reduce/sum_dim0_4096", "GB/s", read, lambda: s.sum(0))
    case("reduce/sum_dim1_4096", "GB/s", read, lambda: s.sum(1))
    case("reduce/argmax_dim1_4096", "GB/s", read, lambda: s.argmax(1))
    case("reduce/softmax_4096x1024", "GB/s", both, lambda: F.softmax(a, 1))
    case("reduce/layernorm_4096x1024", "GB/s", both, lambda: F.layer_norm(a, (1024,), weight, bias))
    for n in (64, 256, 1024, 2048):
        x, y = torch.randn(n, n), torch.randn(n, n)
        case(f"matmul/f32_{n}", "GFLOP/s", 2 * n**3 / GIGA, lambda: x @ y)
    x, y = torch.randn(1024, 1024), torch.randn(1024, 1024)
    h, k = x.bfloat16(), y.bfloat16()
    operations = 2 * 1024**3 / GIGA
    case("matmul/f32_nt_1024", "GFLOP/s", operations, lambda: x @ y.t())
    case("matmul/f32_tn_1024", "GFLOP/s", operations, lambda: x.t() @ y)
    case("matmul/bf16_1024", "GFLOP/s", operations, lambda: h @ k)
    p, q = torch.randn(64, 128, 128), torch.randn(64, 128, 128)
    case("matmul/batched_64x128", "GFLOP/s", 64 * 2 * 128**3 / GIGA, lambda: p @ q)


def with_gradients():
    leaf, b8 = torch.randn(8, requires_grad=True), torch.randn(8)

    def chain():
        y = leaf
        for _ in range(10):
            y = y * b8
        y.sum().backward()
        leaf.grad = None

    case("dispatch/add8_recorded", "ns", 1, lambda: leaf + b8)
    case("dispatch/chain10_fwdbwd", "ns", 1, chain)


def perceptron():
    hidden = nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU()
    return nn.Sequential(*hidden, nn.Linear(512, 10))


def convolutional():
    windows = nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)
    head = nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Linear(128, 10)
    return nn.Sequential(*windows, nn.Flatten(), *head)


class Transformer(nn.Module):
    """A layer that normalises first, of four heads."""

    def __init__(self, size=256, heads=4):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(size), nn.LayerNorm(size)
        self.inner, self.outer = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)

    def forward(self, x):
        def head(part):
            return part.unflatten(-1, (self.heads, -1)).transpose(1, 2)

        query, key, value = map(head, self.inner(self.before(x)).chunk(3, -1))
        seen = F.scaled_dot_product_attention(query, key, value)
        x = x + self.outer(seen.transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(1000, 128)
        self.lstm = nn.LSTM(128, 128, batch_first=True)

    def forward(self, x):
        return self.lstm(self.words(x))[0]


def training():
    sgd = lambda p: torch.optim.SGD(p, 0.01, momentum=0.9)
    adam = lambda p: torch.optim.Adam(p, 1e-3)
    pixels, images = torch.randn(128, 784), torch.randn(64, 1, 28, 28)
    for name, model, make, x in (
        ("mlp_sgdm", perceptron(), sgd, pixels),
        ("mlp_adam", perceptron(), adam, pixels),
        ("cnn_sgdm", convolutional(), sgd, images),
    ):
        optimizer, y = make(model.parameters()), torch.randint(0, 10, (len(x),))

        def step():
            optimizer.zero_grad(set_to_none=True)
            F.cross_entropy(model(x), y).backward()
            optimizer.step()

        case(f"train/{name}", "steps/s", 1, step)
    for name, model, x in (
        ("xformer", Transformer(), torch.randn(16, 128, 256)),
        ("lstm", Recurrent(), torch.randint(0, 1000, (32, 64))),
    ):

        def both():
            model.zero_grad(set_to_none=True)
            model(x).square().mean().backward()

        case(f"train/{name}_fwdbwd", "steps/s", 1, both)


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_default_device("cuda")
    without_gradients()
    with_gradients()
    training()
