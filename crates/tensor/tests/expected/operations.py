"""Values of the operations: elementwise, comparisons, reductions, rows, products, indices."""

import torch
import torch.nn.functional as F

from cases import DTYPES, NAMES, Source, case

F16, F32, F64, I64, U8, BOOL = DTYPES.values()
FLOATS = [F16, F32, F64]
NAN, INF = float("nan"), float("inf")
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-3, 80.0, -80.0, INF, -INF, NAN]

UNARY_ANY = {
    "neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "square": torch.square,
    "relu": torch.relu,
}
UNARY_FLOAT = {
    "exp": torch.exp, "log": torch.log, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt,
    "reciprocal": torch.reciprocal, "sin": torch.sin, "cos": torch.cos, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "erf": torch.erf, "log1p": torch.log1p, "expm1": torch.expm1,
}
UNARY_ROUND = {"floor": torch.floor, "ceil": torch.ceil, "round": torch.round, "trunc": torch.trunc}
BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div,
    "maximum": torch.maximum, "minimum": torch.minimum, "remainder": torch.remainder,
    "floor_divide": torch.floor_divide,
}
COMPARE = {
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
}
LOGICAL = {
    "logical_and": torch.logical_and, "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
}
# Shapes of two operands: equal, broadcast both ways, with a 0-dimensional one, empty.
PAIRS = [((2, 3), (2, 3)), ((2, 1, 4), (3, 1)), ((), (5,)), ((0, 3), (1, 3)), ((), ())]


def unary():
    """Every function of one tensor, on ordinary numbers, on the edges, on integers, empty, 0-dim."""
    source = Source(1)
    for name, function in {**UNARY_ANY, **UNARY_FLOAT, **UNARY_ROUND}.items():
        for dtype in FLOATS:
            inputs = [source.uniform((7,), -3, 3, dtype), torch.tensor(EDGES, dtype=dtype)]
            if dtype == F32:
                inputs += [source.uniform((), 0.1, 2), source.uniform((2, 0, 3))]
            yield from (case(name, [x], output=function(x)) for x in inputs)
    for name, function in UNARY_ANY.items():
        for x in (source.any((6,), I64), source.any((6,), U8)):
            yield case(name, [x], output=function(x))
    for name in ("exp", "sqrt", "sigmoid"):
        for x in (source.integers((4,), 0, 6), source.any((4,), BOOL)):
            yield case(name, [x], output=UNARY_FLOAT[name](x))
    for dtype in DTYPES.values():
        x = source.any((6,), dtype)
        yield case("logical_not", [x], output=torch.logical_not(x))


def binary():
    """Arithmetic on two tensors: broadcasting, promotion, integers, truths, the edges of floats."""
    source = Source(2)
    for name, function in BINARY.items():
        for left, right in PAIRS:
            a, b = source.uniform(left), source.uniform(right, 0.3, 2)
            yield case(name, [a, b], output=function(a, b))
        for dtype in (F16, F64):
            a, b = source.uniform((5,), dtype=dtype), source.uniform((5,), 0.3, 2, dtype)
            yield case(name, [a, b], output=function(a, b))
        grid = torch.tensor([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])
        a, b = grid.repeat_interleave(len(grid)), grid.repeat(len(grid))
        yield case(name, [a, b], output=function(a, b))
        a, b = source.any((12,), I64), source.integers((12,), 1, 5) * torch.tensor([1, -1] * 6)
        yield case(name, [a, b], output=function(a, b))
        a, b = source.any((8,), U8), source.integers((8,), 1, 250, U8)
        yield case(name, [a, b], output=function(a, b))
        b = source.uniform((8,), 0.5, 2)
        yield case(name, [a, b], output=function(a, b))
    a, b = torch.tensor([0, 0, 1, 1], dtype=BOOL), torch.tensor([0, 1, 0, 1], dtype=BOOL)
    for name in ("add", "mul", "maximum", "minimum", "div"):
        yield case(name, [a, b], output=BINARY[name](a, b))
    for dtype in FLOATS:
        a, b = source.uniform((3, 1), 0.1, 3, dtype), source.uniform((4,), -2, 2, dtype)
        yield case("pow", [a, b], output=torch.pow(a, b))
    a, b = source.any((9,), I64), source.integers((9,), 0, 6)
    yield case("pow", [a, b], output=torch.pow(a, b))


def scalars():
    """A tensor and a number: the number's kind counts only when it is the higher one."""
    source = Source(3)
    for dtype in DTYPES.values():
        x = source.any((4,), dtype)
        for name in ("add", "mul", "div", "eq", "lt"):
            for scalar in (3, 2.5, True):
                function = {**BINARY, **COMPARE}[name]
                yield case(f"{name}_scalar", [x], {"scalar": scalar}, output=function(x, scalar))
    for dtype in (F16, F32, F64, I64, U8):
        x = source.any((4,), dtype)
        yield case("sub_scalar", [x], {"scalar": 2}, output=torch.sub(x, 2))
        yield case("pow_scalar", [x], {"scalar": 2}, output=torch.pow(x, 2))
        yield case("clamp", [x], {"min": -1, "max": 2}, output=torch.clamp(x, -1, 2))


def ternary():
    """where, lerp, addcmul, addcdiv."""
    source = Source(4)
    for dtype in DTYPES.values():
        condition, a, b = source.any((3, 1), BOOL), source.any((4,), dtype), source.any((3, 4), dtype)
        yield case("where", [condition, a, b], output=torch.where(condition, a, b))
    for dtype in FLOATS:
        a, b, c = (source.uniform((2, 3), 0.5, 2, dtype) for _ in range(3))
        yield case("lerp", [a, b, c], output=torch.lerp(a, b, c))
        yield case("addcmul", [a, b, c], {"value": 0.5}, output=torch.addcmul(a, b, c, value=0.5))
        yield case("addcdiv", [a, b, c], {"value": 0.5}, output=torch.addcdiv(a, b, c, value=0.5))


def compare():
    """Comparisons and logic: broadcasting, NaN, infinities, mixed dtypes."""
    source = Source(5)
    for name, function in {**COMPARE, **LOGICAL}.items():
        for left, right in PAIRS[:4]:
            a, b = source.integers(left, -1, 2, F32), source.integers(right, -1, 2, F32)
            yield case(name, [a, b], output=function(a, b))
        for dtype in (F16, F64, I64, U8, BOOL):
            a, b = (source.integers((6,), 0, 2, dtype) for _ in range(2))
            yield case(name, [a, b], output=function(a, b))
        a, b = torch.tensor([NAN, NAN, INF, -INF, 0.0]), torch.tensor([NAN, 1.0, INF, INF, -0.0])
        yield case(name, [a, b], output=function(a, b))
        a = source.integers((6,), 0, 2, U8)
        b = source.uniform((6,))
        yield case(name, [a, b], output=function(a, b))


def casts():
    """Every pair of dtypes, on numbers that fit in both."""
    values = torch.tensor([0.0, 1.0, 2.75, 100.0, 7.0], dtype=F64)
    for source in DTYPES.values():
        for target in DTYPES.values():
            x = values.to(source)
            yield case("to", [x], {"dtype": NAMES[target]}, output=x.to(target))


def reduce():
    """Sums, products, extremes, means: whole, along dims, kept dims, empty, NaN, ties."""
    source = Source(6)
    along = {"sum": torch.sum, "mean": torch.mean, "amax": torch.amax, "amin": torch.amin}
    for name, function in along.items():
        for dtype in (F16, F32, F64) + ((I64,) if name != "mean" else ()):
            x = source.any((2, 3, 4), dtype)
            for dims, keep in (([0, 1, 2], False), ([1], False), ([0, 2], True), ([-1], True)):
                args = {"dims": dims, "keepdim": keep}
                yield case(name, [x], args, output=function(x, dim=dims, keepdim=keep))
        x = torch.tensor([[1.0, NAN, 3.0], [INF, 2.0, -INF], [4.0, 5.0, 6.0]])
        yield case(name, [x], {"dims": [1], "keepdim": False}, output=function(x, dim=[1]))
    for name in ("amax", "amin"):
        for dtype in (U8, BOOL):
            x = source.any((3, 4), dtype)
            yield case(name, [x], {"dims": [1], "keepdim": False}, output=along[name](x, dim=[1]))
    for dtype in (U8, BOOL):
        x = source.any((3, 4), dtype)
        yield case("sum", [x], {"dims": [0], "keepdim": False}, output=torch.sum(x, dim=[0]))
    for dtype in (F32, F64, I64):
        x = source.any((2, 4), dtype)
        yield case("prod", [x], {}, output=torch.prod(x))
    for name, function in (("argmax", torch.argmax), ("argmin", torch.argmin)):
        inputs = [source.any((3, 4), F32), source.any((3, 4), I64)]
        inputs += [torch.tensor([[1.0, 3.0, 3.0, 0.0], [NAN, 9.0, NAN, 1.0], [2.0, 2.0, 2.0, 2.0]])]
        for x in inputs:
            yield case(name, [x], {"dim": None, "keepdim": False}, output=function(x))
            for dim, keep in ((0, False), (1, True), (-1, False)):
                yield case(name, [x], {"dim": dim, "keepdim": keep}, output=function(x, dim=dim, keepdim=keep))
    empty = torch.zeros((0, 3))
    yield case("sum", [empty], {"dims": [0], "keepdim": False}, output=empty.sum(dim=[0]))
    yield case("sum", [empty], {"dims": [0, 1], "keepdim": False}, output=empty.sum())
    yield case("mean", [empty], {"dims": [0], "keepdim": False}, output=empty.mean(dim=[0]))
    yield case("prod", [empty], {}, output=empty.prod())
    for dtype in (F16, F32, F64, I64, BOOL):  # of U8 they are U8 in PyTorch, by history
        x = source.integers((3, 4), 0, 2, dtype)
        yield case("any", [x], {"dim": 1, "keepdim": False}, output=x.any(dim=1))
        yield case("all", [x], {"dim": 1, "keepdim": False}, output=x.all(dim=1))
    x = source.any((3, 5), F32)
    yield case("var", [x], {"dims": [1], "correction": 1, "keepdim": False}, output=x.var(dim=1))
    yield case("var", [x], {"dims": [0, 1], "correction": 0, "keepdim": False}, output=x.var(correction=0))


def rows():
    """softmax, log_softmax and the losses."""
    source = Source(7)
    for name, function in (("softmax", F.softmax), ("log_softmax", F.log_softmax)):
        for dtype in FLOATS:
            x = source.uniform((3, 5), -4, 4, dtype)
            yield case(name, [x], {"dim": 1}, output=function(x, dim=1))
        x = source.uniform((2, 3, 4))
        for dim in (0, 1, -1):
            yield case(name, [x], {"dim": dim}, output=function(x, dim=dim))
        x = torch.tensor([[1e4, 1e4 + 1, -1e4], [-INF, 0.0, 0.0], [NAN, 0.0, 1.0]])
        yield case(name, [x], {"dim": 1}, output=function(x, dim=1))
        empty = torch.zeros((0, 4))
        yield case(name, [empty], {"dim": 1}, output=function(empty, dim=1))
    logits, target = source.uniform((6, 4), -3, 3), source.integers((6,), 0, 4)
    yield case("cross_entropy", [logits, target], output=F.cross_entropy(logits, target))
    chances = F.log_softmax(logits, dim=1)
    yield case("nll_loss", [chances, target], output=F.nll_loss(chances, target))
    a, b = source.uniform((3, 4)), source.uniform((3, 4))
    yield case("mse_loss", [a, b], output=F.mse_loss(a, b))
    for dtype, parameters in ((F16, F16), (F16, F32), (F32, F32), (F64, F64)):
        x, weight, bias = source.uniform((3, 5), -1, 4, dtype), source.any((5,), parameters), source.any((5,), parameters)
        for given in ([x], [x, weight], [x, weight, bias]):
            output = F.layer_norm(x, (5,), *given[1:], eps=0.01)
            yield case("layer_norm", given, {"dims": 1, "eps": 0.01}, output=output)
    for x, dims in ((source.uniform((2, 3, 4)), 2), (source.uniform((2, 0)), 1), (source.uniform((0, 3)), 1)):
        weight = source.uniform(x.shape[x.dim() - dims:])
        output = F.layer_norm(x, weight.shape, weight, eps=1e-5)
        yield case("layer_norm", [x, weight], {"dims": dims, "eps": 1e-5}, output=output)


def matmul():
    """Products of vectors, matrices and batches, with strided and empty operands."""
    source = Source(8)
    shapes = [
        ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
        ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 0), (0, 2)), ((0, 4), (4, 2)),
        ((17, 19), (19, 18)),
    ]
    for left, right in shapes:
        a, b = source.uniform(left), source.uniform(right)
        yield case("matmul", [a, b], output=torch.matmul(a, b))
    for dtype in (F16, F64, I64):
        a, b = source.any((3, 4), dtype), source.any((4, 5), dtype)
        yield case("matmul", [a, b], output=torch.matmul(a, b))
    a, b = source.uniform((4, 3)), source.uniform((5, 4))
    yield case("matmul_transposed", [a, b], output=torch.matmul(a.t(), b.t()))


def index():
    """gather, index_select, scatter_add, index_add, cat, stack."""
    source = Source(9)
    for dtype in DTYPES.values():
        x, at = source.any((3, 4), dtype), source.integers((3, 2), 0, 4)
        yield case("gather", [x, at], {"dim": 1}, output=torch.gather(x, 1, at))
        at = source.integers((5,), 0, 3)
        yield case("index_select", [x, at], {"dim": 0}, output=torch.index_select(x, 0, at))
    x, at = source.uniform((2, 3, 4)), source.integers((2, 5, 4), 0, 3)
    yield case("gather", [x, at], {"dim": 1}, output=torch.gather(x, 1, at))
    for dtype in (F16, F32, F64, I64):
        x, at, values = source.any((3, 4), dtype), source.integers((2, 4), 0, 3), source.any((2, 4), dtype)
        yield case("scatter_add", [x, at, values], {"dim": 0}, output=torch.scatter_add(x, 0, at, values))
        at, values = source.integers((5,), 0, 4), source.any((3, 5), dtype)
        yield case("index_add", [x, at, values], {"dim": 1}, output=torch.index_add(x, 1, at, values))
        parts = [source.any((2, n), dtype) for n in (1, 3, 0)]
        yield case("cat", parts, {"dim": 1}, output=torch.cat(parts, dim=1))
        parts = [source.any((2, 2), dtype) for _ in range(2)]
        yield case("stack", parts, {"dim": 1}, output=torch.stack(parts, dim=1))


FAMILIES = {
    "unary": unary, "binary": binary, "scalars": scalars, "ternary": ternary, "compare": compare,
    "casts": casts, "reduce": reduce, "rows": rows, "matmul": matmul, "index": index,
}
