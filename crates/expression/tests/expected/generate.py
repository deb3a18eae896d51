"""Values and gradients of PyTorch at ordinary and special points, in float64 and integers.

    python generate.py > functions.txt

Needs torch 2.15. A line is the function, the operands, the result, and the gradient by each operand
(for a gradient of 1 by the result), separated by tabs.
"""

import itertools

import torch
import torch.nn.functional as F

NAN, INF = float("nan"), float("inf")
POINTS = [
    0.0, -0.0, 1e-10, 0.001, -0.001, 0.3, -0.3, 0.5, -0.5, 0.999, 1.0, -1.0, 1.5, -1.5, 2.0, -2.0,
    2.5, -2.5, 3.0, -3.0, 3.7, 6.0, -6.25, 7.0, 19.5, 21.0, 80.0, -80.0, 800.0, -800.0, INF, -INF,
    NAN,
]
PAIRS = list(itertools.product([0.0, -0.0, 0.5, -1.0, 2.0, -2.5, 3.0, INF, -INF, NAN], repeat=2))
INTEGERS = [0, 1, -1, 2, -3, 7, -8, 31, 63, 64, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63)]

POLES = [0.0, -0.0, -1.0, -2.0, -3.0, -80.0, -800.0, -INF]
# Points at which a function is not compared: PyTorch's own result is the rounding of a multiple of
# pi, undefined, or only the gradient of the formula which it happens to use, and ours of another.
LEFT_OUT = {
    "digamma": POLES, "trigamma": POLES, "pow_minus_half": [-INF],
    "pow_minus_2": [0.0, INF, -INF], "logit": [x for x in POINTS if not 0 < x < 1],
    "logaddexp": [(INF, INF), (-INF, -INF)], "logaddexp2": [(INF, INF), (-INF, -INF)],
    "xlogy": [(0.0, 0.0), (0.0, INF)], "xlog1py": [(0.0, -1.0), (0.0, INF)],
    "hardswish": [NAN, -INF], "to_int64": [1e39],
}

UNARY = {
    name: getattr(torch, name)
    for name in """abs neg sqrt rsqrt floor ceil round trunc exp exp2 expm1 log log2 log10 log1p sin
    cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid erf erfc erfinv lgamma digamma
    square reciprocal sign frac relu deg2rad rad2deg sinc nan_to_num""".split()
} | {
    "trigamma": lambda x: torch.polygamma(1, x),
    "logit": torch.logit,
    "logit_eps": lambda x: torch.logit(x, 0.1),
    "relu6": F.relu6,
    "hardtanh": lambda x: F.hardtanh(x, -0.5, 2.0),
    "leaky_relu": lambda x: F.leaky_relu(x, 0.125),
    "threshold": lambda x: F.threshold(x, 0.5, 3.0),
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
    "mish": F.mish,
    "softplus": lambda x: F.softplus(x, 2.0, 20.0),
    "logsigmoid": F.logsigmoid,
    "elu": lambda x: F.elu(x, 0.75),
    "selu": F.selu,
    "celu": lambda x: F.celu(x, 1.5),
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "softsign": F.softsign,
    "tanhshrink": F.tanhshrink,
    "softshrink": lambda x: F.softshrink(x, 0.5),
    "hardshrink": lambda x: F.hardshrink(x, 0.5),
    "clamp": lambda x: torch.clamp(x, -0.5, 2.0),
    "pow_3": lambda x: x**3,
    "pow_half": lambda x: x**0.5,
    "pow_minus_half": lambda x: x**-0.5,
    "pow_minus_1": lambda x: x**-1.0,
    "pow_minus_2": lambda x: x**-2.0,
    "pow_2_5": lambda x: x**2.5,
    "pow_0": lambda x: x**0.0,
}
BINARY = {
    name: getattr(torch, name)
    for name in """add sub mul div remainder fmod pow atan2 hypot copysign maximum minimum fmax fmin
    logaddexp logaddexp2 xlogy""".split()
} | {
    "xlog1py": torch.special.xlog1py,
    "lerp": lambda a, b: torch.lerp(a, b, 0.25),
    "where": lambda a, b: torch.where(a > b, a * 2, b * 3),
}
# Without gradients.
VALUES = {
    name: getattr(torch, name) for name in "floor_divide nextafter heaviside".split()
} | {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "logical_and": torch.logical_and, "logical_xor": torch.logical_xor,
}
TESTS = {name: getattr(torch, name) for name in "isnan isinf isfinite isposinf isneginf signbit".split()}
INTEGER_UNARY = {"abs": torch.abs, "neg": torch.neg, "not": torch.bitwise_not, "sign": torch.sign}
INTEGER_BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "pow": torch.pow,
    "maximum": torch.maximum, "minimum": torch.minimum, "and": torch.bitwise_and,
    "or": torch.bitwise_or, "xor": torch.bitwise_xor, "shl": torch.bitwise_left_shift,
    "shr": torch.bitwise_right_shift,
}
INTEGER_DIVISIONS = {
    "div_trunc": lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    "floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod,
    "gcd": torch.gcd, "lcm": torch.lcm,
}


def text(value):
    return repr(value.item() if isinstance(value, torch.Tensor) else value).lower()


def line(name, operands, results):
    print(name, *map(text, operands), *map(text, results), sep="\t")


def compared(name, points):
    left_out = LEFT_OUT.get(name, [])
    return [point for point in points if point not in left_out and point[0] not in left_out]


def differentiable(functions, points):
    for name, function in functions.items():
        for point in compared(name, points):
            operands = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in point]
            output = function(*operands)
            gradients = torch.autograd.grad(output, operands, allow_unused=True)
            gradients = [torch.zeros(()) if g is None else g for g in gradients]
            line(name, point, [output, *gradients])


def values(functions, points, dtype):
    for name, function in functions.items():
        for point in compared(name, points):
            line(name, point, [function(*(torch.tensor(x, dtype=dtype) for x in point))])


def integers(prefix, dtype):
    bits = torch.iinfo(dtype)
    points = [x for x in INTEGERS if bits.min <= x <= bits.max]
    pairs = list(itertools.product(points, repeat=2))
    named = lambda functions: {f"{prefix}.{name}": f for name, f in functions.items()}
    values(named(INTEGER_UNARY), [[x] for x in points], dtype)
    values(named(INTEGER_BINARY), pairs, dtype)
    # The processor traps where a quotient does not fit.
    safe = [(a, b) for a, b in pairs if b != 0 and bits.min not in (a, b)]
    values(named(INTEGER_DIVISIONS), safe, dtype)


def conversions():
    numbers = [0.0, -0.0, 0.5, -0.5, 1.5, -2.75, 255.0, 65536.5, -3e9, 3e9, 1e18, 0.1, 1e-46, 1e39]
    for dtype in [torch.float32, torch.int64, torch.bool]:
        name = f"to_{str(dtype)[6:]}"
        for (x,) in compared(name, [[x] for x in numbers]):
            line(name, [x], [torch.tensor(x, dtype=torch.float64).to(dtype)])


differentiable(UNARY, [[x] for x in POINTS])
differentiable(BINARY, PAIRS)
values(VALUES, PAIRS, torch.float64)
values(TESTS, [[x] for x in POINTS], torch.float64)
integers("i64", torch.int64)
integers("i32", torch.int32)
conversions()
