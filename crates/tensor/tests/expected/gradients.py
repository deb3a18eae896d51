"""Gradients of the differentiable operations, for a given gradient of the output, and the gradients
of the sum of these gradients times given weights (second derivatives)."""

import torch
import torch.nn.functional as F

from cases import Source, case
from operations import BINARY, PAIRS, UNARY_ANY, UNARY_FLOAT, UNARY_ROUND

F64 = torch.float64


class Gradients:
    """Makes cases: runs a function forward and backward, with a random gradient of the output."""

    def __init__(self, seed):
        self.source = Source(seed)
        self.weights = Source(seed + 1000)

    def uniform(self, *args, **kwargs):
        return self.source.uniform(*args, **kwargs)

    def case(self, op, inputs, function, **args):
        leaves = [
            x.clone().requires_grad_(True) if x.is_floating_point() else x for x in inputs
        ]
        output = function(*leaves)
        gradient = self.uniform(output.shape, dtype=output.dtype)
        floats = [x for x in leaves if x.is_floating_point()]
        gradients = torch.autograd.grad(output, floats, gradient, create_graph=True)
        weights = [self.weights.uniform(x.shape, dtype=x.dtype) for x in floats]
        pairs = [(x, w) for x, w in zip(gradients, weights) if x.requires_grad]
        seconds = [None for _ in floats]
        if pairs:
            firsts, seeds = zip(*pairs)
            seconds = torch.autograd.grad(firsts, floats, seeds, allow_unused=True)
        # PyTorch's zeros without memory become ordinary ones.
        seconds = [None if x is None else torch.zeros(x.shape, dtype=x.dtype) + x for x in seconds]
        place = iter(gradients)
        gradients = [torch.zeros(x.shape, dtype=x.dtype) + next(place) if x.is_floating_point() else None
                     for x in leaves]
        return case(op, inputs, args, output=output, gradient=gradient, gradients=gradients,
                    weights=weights, seconds=seconds)


def elementwise():
    """One, two and three operands: broadcasting, ties, kinks, mixed dtypes."""
    make = Gradients(20)
    for name, function in {**UNARY_ANY, **UNARY_FLOAT, **UNARY_ROUND}.items():
        low = 0.2 if name in ("log", "sqrt", "rsqrt", "log1p") else -2
        yield make.case(name, [make.uniform((2, 3), low, 2)], function)
        yield make.case(name, [make.uniform((), 0.3, 2, F64)], function)
    for name in ("abs", "relu", "sign", "square"):
        yield make.case(name, [torch.tensor([-1.0, 0.0, 2.0])], UNARY_ANY[name])
    for name in ("add", "sub", "mul", "div", "maximum", "minimum"):
        for left, right in PAIRS:
            a, b = make.uniform(left), make.uniform(right, 0.3, 2)
            yield make.case(name, [a, b], BINARY[name])
        a, b = make.uniform((2, 2)), make.uniform((2, 2), 0.3, 2, F64)
        yield make.case(name, [a, b], BINARY[name])
    for name in ("maximum", "minimum"):
        a, b = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 2.0])
        yield make.case(name, [a, b], BINARY[name])
    for left, right in PAIRS[:4]:
        a, b = make.uniform(left, 0.3, 2), make.uniform(right)
        yield make.case("pow", [a, b], torch.pow)
    x = make.uniform((4,), 0.3, 2)
    for scalar in (2, 3.0, -1.5, 0.5, 0):
        yield make.case("pow_scalar", [x], lambda a: a.pow(scalar), scalar=scalar)
    for name in ("add", "sub", "mul", "div"):
        yield make.case(f"{name}_scalar", [x], lambda a: BINARY[name](a, 2.5), scalar=2.5)
    x = torch.tensor([-2.0, -1.0, 0.0, 1.5, 2.0, 3.0])
    yield make.case("clamp", [x], lambda a: a.clamp(-1, 2), min=-1, max=2)
    condition = make.source.integers((3, 1), 0, 2, torch.bool)
    a, b, c = make.uniform((4,), 0.5, 2), make.uniform((3, 4), 0.5, 2), make.uniform((3, 1), 0.5, 2)
    yield make.case("where", [condition, a, b], torch.where)
    yield make.case("lerp", [a, b, c], torch.lerp)
    yield make.case("addcmul", [a, b, c], lambda *x: torch.addcmul(*x, value=0.5), value=0.5)
    yield make.case("addcdiv", [a, b, c], lambda *x: torch.addcdiv(*x, value=0.5), value=0.5)


def reductions():
    """Sums, extremes with ties, variance, rows and losses."""
    make = Gradients(21)
    ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0], [0.0, -1.0, 3.0]])
    functions = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin}
    for name, function in functions.items():
        x = make.uniform((2, 3, 4))
        for dims, keep in (([0, 1, 2], False), ([1], False), ([0, 2], True), ([-1], True)):
            run = lambda a: function(a, dim=dims, keepdim=keep)
            yield make.case(name, [x], run, dims=dims, keepdim=keep)
        yield make.case(name, [ties], lambda a: function(a, dim=[1]), dims=[1], keepdim=False)
    yield make.case("max", [ties], torch.max)
    yield make.case("prod", [make.uniform((2, 3))], torch.prod)
    yield make.case("prod", [torch.tensor([2.0, 0.0, 3.0])], torch.prod)
    yield make.case("prod", [torch.tensor([2.0, 0.0, 0.0])], torch.prod)
    x = make.uniform((3, 5))
    run = lambda a: a.var(dim=1)
    yield make.case("var", [x], run, dims=[1], correction=1, keepdim=False)
    run = lambda a: a.var(correction=0)
    yield make.case("var", [x], run, dims=[0, 1], correction=0, keepdim=False)
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for dim in (0, 1):
            yield make.case(name, [x], lambda a: function(a, dim=dim), dim=dim)
    logits, target = make.uniform((6, 4), -3, 3), make.source.integers((6,), 0, 4)
    yield make.case("cross_entropy", [logits, target], F.cross_entropy)
    yield make.case("nll_loss", [F.log_softmax(logits, dim=1), target], F.nll_loss)
    yield make.case("mse_loss", [make.uniform((3, 4)), make.uniform((3, 4))], F.mse_loss)
    for shape, dims, dtype in (((3, 5), 1, torch.float32), ((2, 2, 3), 2, F64)):
        operands = [make.uniform(shape, dtype=dtype)]
        operands += [make.uniform(shape[-dims:], dtype=dtype) for _ in range(2)]
        for count in (1, 2, 3):
            run = lambda x, *parameters: F.layer_norm(x, shape[-dims:], *parameters, eps=0.1)
            yield make.case("layer_norm", operands[:count], run, dims=dims, eps=0.1)


def products():
    """Matrix products of every combination of dimensions."""
    make = Gradients(22)
    shapes = [
        ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,)),
        ((3, 0), (0, 2)),
    ]
    for left, right in shapes:
        yield make.case("matmul", [make.uniform(left), make.uniform(right)], torch.matmul)


def movement():
    """Views, joins, indices, casts."""
    make = Gradients(23)
    x = make.uniform((2, 3, 4))
    yield make.case("reshape", [x], lambda a: a.reshape(4, 6), shape=[4, 6])
    yield make.case("transpose", [x], lambda a: a.transpose(0, 2), dim0=0, dim1=2)
    yield make.case("permute", [x], lambda a: a.permute(2, 0, 1), dims=[2, 0, 1])
    yield make.case("narrow", [x], lambda a: a.narrow(1, 1, 2), dim=1, start=1, length=2)
    yield make.case("select", [x], lambda a: a.select(2, 1), dim=2, index=1)
    yield make.case("unsqueeze", [x], lambda a: a.unsqueeze(1), dim=1)
    yield make.case("flatten", [x], lambda a: a.flatten())
    one = make.uniform((2, 1, 3))
    yield make.case("squeeze", [one], lambda a: a.squeeze(1), dim=1)
    yield make.case("expand", [one], lambda a: a.expand(2, 2, 4, 3), shape=[2, 2, 4, 3])
    yield make.case("to", [x], lambda a: a.to(F64), dtype="f64")
    parts = [make.uniform((2, n)) for n in (1, 3, 0)]
    yield make.case("cat", parts, lambda *p: torch.cat(p, dim=1), dim=1)
    parts = [make.uniform((2, 2)) for _ in range(3)]
    yield make.case("stack", parts, lambda *p: torch.stack(p, dim=1), dim=1)
    at = make.source.integers((2, 5, 4), 0, 3)
    yield make.case("gather", [x, at], lambda a, i: torch.gather(a, 1, i), dim=1)
    at = make.source.integers((5,), 0, 3)
    yield make.case("index_select", [x, at], lambda a, i: torch.index_select(a, 1, i), dim=1)
    x, at, values = make.uniform((3, 4)), make.source.integers((2, 4), 0, 3), make.uniform((2, 4))
    run = lambda a, i, v: torch.scatter_add(a, 0, i, v)
    yield make.case("scatter_add", [x, at, values], run, dim=0)
    at, values = make.source.integers((5,), 0, 4), make.uniform((3, 5))
    run = lambda a, i, v: torch.index_add(a, 1, i, v)
    yield make.case("index_add", [x, at, values], run, dim=1)


def gradients():
    """All of them."""
    yield from elementwise()
    yield from reductions()
    yield from products()
    yield from movement()
