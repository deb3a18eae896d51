"""The elementwise kernels: unary, binary, compare, ternary, copy."""

import struct

import torch

from abi import dims, elementwise
from values import CLOSE, DTYPES, disagreement, sample, widen

FLOATS = ["f16", "f32", "f64"]
NUMBERS = [*FLOATS, "i64", "u8"]
ALL = [*NUMBERS, "bool"]

# How the bits of one value are packed into the low bytes of an immediate.
FORMATS = {"f16": "<e6x", "f32": "<f4x", "f64": "<d", "i64": "<q", "u8": "<B7x", "bool": "<?7x"}


def relu_backward(grad, x):
    return torch.where(x <= 0, torch.zeros_like(grad), grad)


def integer_pow(base, exponent):
    return torch.where(
        exponent < 0,
        torch.where(base == 1, 1, torch.where(base == -1, 1 - 2 * (exponent & 1), 0)),
        torch.pow(base, exponent.clamp(min=0)),
    )


def pow_(base, exponent):
    return torch.pow(base, exponent) if base.is_floating_point() else integer_pow(base, exponent)


def floor_divide(a, b):
    if a.is_floating_point():
        return torch.floor_divide(a, b)
    return torch.where(b == 0, 0, torch.floor_divide(a, torch.where(b == 0, 1, b)))


def remainder(a, b):
    if a.is_floating_point():
        return torch.remainder(a, b)
    return torch.where(b == 0, 0, torch.remainder(a, torch.where(b == 0, 1, b)))


def clamp(x, low, high):
    return torch.minimum(torch.maximum(x, low), high)


# Name: what PyTorch says, number of inputs, dtypes, and whether it need not agree to the bit.
OPERATIONS = {
    "neg": (lambda x: 0 - x if x.dtype == torch.uint8 else -x, 1, NUMBERS, False),
    "abs": (torch.abs, 1, NUMBERS, False),
    "sign": (torch.sign, 1, NUMBERS, False),
    "square": (lambda x: x * x, 1, NUMBERS, False),
    "relu": (torch.relu, 1, NUMBERS, False),
    "floor": (torch.floor, 1, FLOATS, False),
    "ceil": (torch.ceil, 1, FLOATS, False),
    "round": (torch.round, 1, FLOATS, False),
    "trunc": (torch.trunc, 1, FLOATS, False),
    # The kernels round roots correctly, PyTorch's vectorised ones on the CPU do not.
    "sqrt": (torch.sqrt, 1, FLOATS, True),
    "rsqrt": (lambda x: 1 / torch.sqrt(x), 1, FLOATS, True),
    "reciprocal": (lambda x: 1 / x, 1, FLOATS, False),
    "exp": (torch.exp, 1, FLOATS, True),
    "expm1": (torch.expm1, 1, FLOATS, True),
    "log": (torch.log, 1, FLOATS, True),
    "log1p": (torch.log1p, 1, FLOATS, True),
    "sin": (torch.sin, 1, FLOATS, True),
    "cos": (torch.cos, 1, FLOATS, True),
    "tanh": (torch.tanh, 1, FLOATS, True),
    "sigmoid": (torch.sigmoid, 1, FLOATS, True),
    "erf": (torch.erf, 1, FLOATS, True),
    "logical_not": (torch.logical_not, 1, ALL, False),
    "add": (lambda a, b: a | b if a.dtype == torch.bool else a + b, 2, ALL, False),
    "mul": (lambda a, b: a & b if a.dtype == torch.bool else a * b, 2, ALL, False),
    "sub": (torch.sub, 2, NUMBERS, False),
    "div": (torch.div, 2, FLOATS, False),
    "pow": (pow_, 2, [*FLOATS, "i64"], True),
    "maximum": (torch.maximum, 2, ALL, False),
    "minimum": (torch.minimum, 2, ALL, False),
    "remainder": (remainder, 2, NUMBERS, False),
    "floor_divide": (floor_divide, 2, NUMBERS, False),
    "relu_backward": (relu_backward, 2, FLOATS, False),
    "eq": (torch.eq, 2, ALL, False),
    "ne": (torch.ne, 2, ALL, False),
    "lt": (torch.lt, 2, ALL, False),
    "le": (torch.le, 2, ALL, False),
    "gt": (torch.gt, 2, ALL, False),
    "ge": (torch.ge, 2, ALL, False),
    "logical_and": (torch.logical_and, 2, ALL, False),
    "logical_or": (torch.logical_or, 2, ALL, False),
    "logical_xor": (torch.logical_xor, 2, ALL, False),
    "where": (torch.where, 3, ALL, False),
    "clamp": (clamp, 3, NUMBERS, False),
    "add_scaled": (lambda a, b, alpha: a + alpha * b, 3, NUMBERS, True),
    "lerp": (torch.lerp, 3, FLOATS, True),
    "addcmul": (lambda a, b, c, value: a + value * b * c, 4, NUMBERS, True),
    "addcdiv": (lambda a, b, c, value: a + value * (b / c), 4, FLOATS, True),
}
BOOLEAN = "logical_not eq ne lt le gt ge logical_and logical_or logical_xor".split()

# Sums of terms of opposite sign lose digits, of which fma loses fewer. Whole numbers lose none.
WHOLE = "add_scaled lerp addcmul addcdiv".split()


def launch(driver, entry, output, inputs, shape):
    """Runs an elementwise kernel. An input is a tensor of this shape, or (dtype, value)."""
    tensors = [output, *[i for i in inputs if isinstance(i, torch.Tensor)]]
    args = elementwise(1 + len(inputs))(numel=output.numel(), dims=len(shape), sizes=dims(shape))
    args.contiguous = all(tensor.is_contiguous() for tensor in tensors)
    memories = []
    for operand, value in zip(args.operands, [output, *inputs]):
        if isinstance(value, torch.Tensor):
            memories.append(driver.memory(value))
            operand.data = memories[-1].address
            operand.strides = dims(value.stride())
        else:
            dtype, number = value
            operand.immediate = int.from_bytes(struct.pack(FORMATS[dtype], number), "little")
    driver.launch(entry, args)
    return memories[0].read()


def layouts(dtype, whole):
    """Pairs of a name and a function that makes one input for that layout."""
    def make(shape):
        values = sample(dtype, shape)
        return values.nan_to_num(posinf=7, neginf=-7).round() if whole else values

    yield "dense", (6, 7, 11), lambda n: make((6, 7, 11))
    yield "unaligned", (463,), lambda n: make((464,))[1:]
    yield "transposed", (7, 11, 6), lambda n: make((6, 7, 11)).permute(1, 2, 0)
    yield "sliced", (3, 2, 2, 5), lambda n: make((4, 4, 3, 10))[1:, ::2, :2, ::2]
    yield "broadcast", (5, 40), lambda n: (make((5, 1)) if n % 2 else make((1, 40))).expand(5, 40)
    yield "scalar", (), lambda n: make(())
    yield "empty", (0, 3), lambda n: make((0, 3))


def check(driver):
    for name, (function, arity, dtypes, inexact) in OPERATIONS.items():
        for dtype in dtypes:
            for layout in layouts(DTYPES[dtype], name in WHOLE and dtype in FLOATS):
                yield from check_operation(driver, name, function, arity, dtype, inexact, layout)
    for source in ALL:
        for target in ALL:
            for layout in layouts(DTYPES[source], False):
                yield from check_copy(driver, source, target, layout)


def check_operation(driver, name, function, arity, dtype, inexact, layout):
    label, shape, make = layout
    inputs = [make(n) for n in range(arity)]
    if name == "addcdiv":
        inputs[2] = inputs[2].sign() * 4
    if name == "where":
        inputs[0] = inputs[0] != 0
    if name == "pow" and dtype == "i64":
        inputs[1] = inputs[1] % 70 - 4
    expected = function(*[widen(i) for i in inputs])
    expected = expected.to(torch.bool if name in BOOLEAN else DTYPES[dtype])
    output = torch.zeros(shape, dtype=expected.dtype)
    ulps = CLOSE.get(expected.dtype, 0) if inexact else 0
    entry = f"{name}_{dtype}"
    yield f"{entry} {label}", disagreement(
        launch(driver, entry, output, inputs, shape), expected, ulps
    )
    # Once more with the last input as an immediate.
    if arity > 1 and label == "transposed":
        value = inputs[-1][0, 0, 0]
        expected = function(*[widen(i) for i in inputs[:-1]], widen(value)).to(output.dtype)
        inputs[-1] = (dtype, value.item())
        yield f"{entry} with an immediate", disagreement(
            launch(driver, entry, output, inputs, shape), expected, ulps
        )


def check_copy(driver, source, target, layout):
    label, shape, make = layout
    values = make(0)
    expected = cast(values, target)
    entry = f"copy_{source}_{target}"
    actual = launch(driver, entry, torch.zeros(shape, dtype=DTYPES[target]), [values], shape)
    yield f"{entry} {label}", disagreement(actual, expected, 0)


def cast(values, target):
    """PyTorch leaves the cast of what an integer cannot hold to the machine, and rounds twice from
    f64 to f16. The kernels do neither."""
    if values.dtype == torch.float64 and target == "f16":
        return torch.from_numpy(values.numpy().astype("float16"))
    if values.is_floating_point() and target in ("i64", "u8"):
        limited = values.double().nan_to_num(0.0).clamp(-(2.0**63), 2.0**63 - 1024)
        whole = limited.to(torch.int64)
        return torch.where(widen(values) >= 2.0**63, 2**63 - 1, whole).to(DTYPES[target])
    return values.to(DTYPES[target])
