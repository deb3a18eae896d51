"""Values of elementwise operations in all dtypes, and the numbers that are easily got wrong."""

import torch
import torch.nn.functional as F

from cases import MORE_DTYPES, DTYPES, Source, case

F16, F32, F64, I64, U8, BOOL = DTYPES.values()
BF16, I32, I16, I8 = MORE_DTYPES.values()
NAN, INF = float("nan"), float("inf")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-3, 20.0, -20.0, INF, -INF, NAN]

FLOAT = {
    name: getattr(torch, name)
    for name in """acos acosh asin asinh atan atanh cosh sinh tan deg2rad rad2deg sinc exp2 log2 log10 erfc
    erfinv lgamma digamma logit""".split()
}
ACTIVATIONS = {
    "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "silu": F.silu,
    "mish": F.mish, "selu": F.selu, "relu6": F.relu6, "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "softsign": F.softsign, "logsigmoid": F.logsigmoid,
    "tanhshrink": F.tanhshrink, "leaky_relu": F.leaky_relu, "elu": F.elu, "celu": F.celu,
    "hardtanh": F.hardtanh, "softplus": F.softplus, "softshrink": F.softshrink,
    "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 0.5, -1.0),
}
NUMBERS = {"neg": torch.neg, "sign": torch.sign, "square": torch.square, "floor": torch.floor}
PREDICATES = {
    name: getattr(torch, name)
    for name in "isnan isinf isfinite isposinf isneginf signbit logical_not".split()
}
INTEGERS = {
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor, "gcd": torch.gcd, "lcm": torch.lcm,
    "floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod,
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"), "pow": torch.pow,
    "bitwise_left_shift": torch.bitwise_left_shift,
    "bitwise_right_shift": torch.bitwise_right_shift, "fmax": torch.fmax, "maximum": torch.maximum,
}
BINARY = {
    name: getattr(torch, name)
    for name in """fmod fmax fmin atan2 hypot copysign nextafter logaddexp logaddexp2 xlogy heaviside
    ldexp float_power""".split()
}


def elementwise():
    """Every function on the edges of floats, in each floating dtype, and in small integers."""
    source = Source(40)
    for name, function in {**FLOAT, **ACTIVATIONS}.items():
        # At infinity PyTorch's gelu is NaN or not, by the number of elements.
        edges = [x for x in EDGES if abs(x) != INF] if "gelu" in name else EDGES
        yield case(name, [torch.tensor(edges)], output=function(torch.tensor(edges)))
        for dtype in (F16, BF16, F64):
            x = source.uniform((6,), -3, 3, dtype)
            yield case(name, [x], output=function(x))
    for name in ("acos", "sinc", "exp2", "erfc"):
        for dtype in (I32, U8, BOOL):
            x = source.integers((4,), 0, 2, dtype)
            yield case(name, [x], output=FLOAT[name](x))
    for name, function in NUMBERS.items():
        for dtype in (BF16, I32, I16, I8, U8):
            x = source.integers((5,), 0, 9, dtype)
            yield case(name, [x], output=function(x))
    for name, function in PREDICATES.items():
        for x in (torch.tensor(EDGES), source.integers((4,), -2, 2, I8), torch.tensor(EDGES, dtype=BF16)):
            yield case(name, [x], output=function(x))
    for name, function in INTEGERS.items():
        for dtype in (I64, I32, I16, I8, U8):
            low = 0 if dtype == U8 or name == "bitwise_left_shift" else -20
            a, b = source.integers((8,), low, 20, dtype), source.integers((8,), 1, 6, dtype)
            yield case(name, [a, b], output=function(a, b))
    for name, function in BINARY.items():
        grid = torch.tensor([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])
        a, b = grid.repeat_interleave(len(grid)), grid.repeat(len(grid))
        yield case(name, [a, b], output=function(a, b))
        for dtype in (F16, BF16, F64):
            if name == "nextafter" and dtype == F16:
                continue
            a, b = source.uniform((5,), dtype=dtype), source.uniform((5,), 0.3, 2, dtype)
            yield case(name, [a, b], output=function(a, b))


def pitfalls():
    """Overflow, half precision beside large numbers, powers by a number, ties and NaN."""
    least = torch.iinfo(I64).min
    a = torch.tensor([least, least + 1, 1, -7])
    for b in (torch.tensor([3, 3, least, 2]), torch.tensor([-3, 7, least + 1, -2])):
        for name in ("floor_divide", "remainder", "fmod"):
            yield case(name, [a, b], output=getattr(torch, name)(a, b))
    for dtype, numbers in ((F16, [0.5, 0.0, INF, -3.0]), (BF16, [0.5, 0.0, INF, -3.0])):
        x = torch.tensor(numbers, dtype=dtype)
        for scalar in (70000.0, 1 << 40, 0.1):
            for name in ("mul", "div", "add", "eq", "lt"):
                yield case(f"{name}_scalar", [x], {"scalar": scalar}, output=getattr(torch, name)(x, scalar))
    x = torch.tensor([-INF, -0.0, 0.0, 2.0, -2.0, INF, NAN])
    for scalar in (0.5, 2, 3, -1, -0.5, -2, 0, 1.5):
        yield case("pow_scalar", [x], {"scalar": scalar}, output=x.pow(scalar))
    for dtype in (I64, I32, I8, U8, BOOL):
        x = torch.tensor([0, 1, 1, 0], dtype=dtype)
        yield case("pow_scalar", [x], {"scalar": 2}, output=x.pow(2))
        yield case("square", [x], output=x.square())
        yield case("sign", [x], output=x.sign())
    base, exponents = torch.tensor(2, dtype=U8), torch.tensor([[0, 1, 7], [8, 9, 3]], dtype=U8)
    yield case("pow", [base, exponents], output=base.pow(exponents))
    a, b = torch.tensor([1, 2, 3, 250], dtype=U8), torch.tensor(300)
    for name in ("add", "mul", "maximum", "eq", "lt"):
        yield case(name, [a, b], output=getattr(torch, name)(a, b))
    a, b = torch.tensor([0.1, 1e-7, 300.0], dtype=F16), torch.tensor(0.1, dtype=F64)
    for name in ("add", "mul", "eq", "sub"):
        yield case(name, [a, b], output=getattr(torch, name)(a, b))
    logits, target = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]]), torch.tensor([-100, 2])
    yield case("cross_entropy", [logits, target], output=F.cross_entropy(logits, target))
    target = torch.tensor([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    yield case("cross_entropy", [logits, target], output=F.cross_entropy(logits, target))
    yield case("mse_loss", [logits, target[0]], output=F.mse_loss(logits, target[0].expand(2, 3)))


FAMILIES = {"elementwise": elementwise, "pitfalls": pitfalls}
