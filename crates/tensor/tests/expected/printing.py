"""Printed forms: what `repr` gives for a tensor."""

import torch

from cases import DTYPES, Source, case

F16, F32, F64, I64, U8, BOOL = DTYPES.values()
NAN, INF = float("nan"), float("inf")


def floats():
    """Float tensors that choose each of the formats."""
    lists = [
        [1.0, 2.0, 3.0], [1.5, -2.25, 0.1], [0.0, 0.0], [0.0, -0.0, 1.0], [1e-5, 1.0], [1e-4, 0.1],
        [1.00009e-4, 0.01], [12345.678, 0.5], [1e8, 2e8], [1.1e8, 2e8], [1e9], [1.0, 1000.0],
        [1.0, 1001.0], [0.001, 1.5], [NAN, 1.0, 2.0], [NAN, 1.5, -INF], [INF, -INF, NAN], [INF],
        [1e30, -1e-30, 0.0], [99999.9999, 1.0], [0.99999, 1.0], [1.0 / 3, 2.0 / 3], [-1.0, -10.5],
        [0.03125, 0.09375], [100.0, 0.1001], [5e-45, 1.0], [0.5], [NAN], [1234567.0, NAN, 12.0],
    ]
    for values in lists:
        yield torch.tensor(values)
        yield torch.tensor(values, dtype=F64)
    for values in lists[:3] + [[65504.0, 1e-7], [NAN, INF, 0.25], [1000.0, 0.001]]:
        yield torch.tensor(values, dtype=F16)


def shapes():
    """0-dimensional, empty, nested, broken over lines, summarised."""
    source = Source(30)
    for dtype in DTYPES.values():
        for shape in [(), (0,), (0, 3), (2, 0, 1), (1,), (1, 1), (2, 3), (2, 2, 2), (2, 1, 2, 2)]:
            yield source.any(shape, dtype)
    for shape in [(12,), (30,), (3, 12), (3, 20), (2, 25, 2), (7, 7, 2), (1, 1, 1, 1, 1, 8)]:
        yield source.uniform(shape)
        yield source.any(shape, I64)
        yield source.any(shape, BOOL)
    for shape in [(1000,), (1001,), (1024, 2), (2, 1024), (40, 40), (7, 200), (11, 10, 10), (3, 400)]:
        yield torch.arange(torch.Size(shape).numel()).reshape(shape)
    for shape in [(1500,), (1024, 2), (32, 40), (6, 7, 30), (501, 2, 1)]:
        yield torch.arange(torch.Size(shape).numel(), dtype=F32).reshape(shape) / 7
    yield torch.arange(1200) % 3 == 0
    yield torch.tensor([[1e6, 1e-6]]).expand(600, 2)
    yield torch.cat([torch.ones(3), torch.full((1100,), 1e9), torch.ones(3)])


def integers():
    """Integers of different widths."""
    for values in ([1, -20, 300], [2**62, -1], [0], [-5, 5], [1000000] * 12):
        yield torch.tensor(values)
    yield torch.tensor([0, 7, 255], dtype=U8)
    yield torch.tensor([True, False])
    yield torch.tensor(True)
    yield torch.tensor(-7)


def gradients():
    """Where a tensor stands in the graph shows behind its values."""
    yield case("requires_grad", [torch.ones(2)], printed=repr(torch.ones(2, requires_grad=True)))
    x = torch.ones(2, requires_grad=True)
    yield case("add", [torch.ones(2)], printed=repr(x + x))
    yield case("exp", [torch.ones(2)], printed=repr(x.exp()))
    y = torch.full((2, 9), 1.25)
    yield case("mul", [y], printed=repr(y.requires_grad_() * y))
    y = torch.full((10,), 1.25, dtype=F64)
    yield case("relu", [y], printed=repr(y.requires_grad_().relu()))


def printed():
    """Contiguous tensors and transposed ones, under both default dtypes."""
    for x in [*floats(), *shapes(), *integers()]:
        if x.numel() <= 1300:
            yield case("repr", [x], printed=repr(x))
        else:
            divisor = 7 if x.is_floating_point() else 1
            args = {"shape": list(x.shape), "divisor": divisor}
            yield case("repr_arange", [], args, printed=repr(x))
    x = torch.arange(6.0).reshape(2, 3).t() / 8
    yield case("repr_transposed", [x.t()], printed=repr(x))
    torch.set_default_dtype(F64)
    for x in [torch.ones(2), torch.ones(2, dtype=F32), torch.zeros(0, dtype=F32)]:
        yield case("repr_default_f64", [x], printed=repr(x))
    torch.set_default_dtype(F32)
    yield from gradients()
