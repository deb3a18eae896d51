"""The kernels that are not elementwise: reductions, matmul, softmax, layer_norm, index, random, range, cat."""

import itertools
import math
from ctypes import c_float, c_uint64

import torch

from abi import Cat, Index, Matmul, NormalizedRows, NormParameters, Random, Range, Reduce, Rows, Scan, dims
from values import DTYPES, disagreement, sample, widen

FLOATS = ["f16", "bf16", "f32", "f64"]
NUMBERS = [*FLOATS, "i64", "i32", "i16", "i8", "u8"]
ALL = [*NUMBERS, "bool"]
HALVES = ["f16", "bf16"]
# Kernels that only move elements are named by the integer of the elements' size.
MOVER = {8: "i64", 4: "i32", 2: "i16", 1: "u8"}


def check(driver):
    yield from saxpy(driver)
    yield from reductions(driver)
    yield from matmuls(driver)
    yield from scans(driver)
    yield from softmaxes(driver)
    yield from layer_norms(driver)
    yield from indexing(driver)
    yield from random(driver)
    yield from ranges(driver)
    yield from joined(driver)


def saxpy(driver):
    x, y = torch.randn(1000), torch.randn(1000)
    there, result = driver.memory(x), driver.memory(y)
    pointers = c_uint64(there.address), c_uint64(result.address)
    driver.launch("saxpy", c_uint64(1000), c_float(2), *pointers)
    yield "saxpy", disagreement(result.read(), 2 * x + y, 2)


# Name: what PyTorch says of a matrix with the reduced elements in its rows, and the dtypes.
REDUCTIONS = {
    "sum": (lambda x: x.sum(-1), ALL),
    "prod": (lambda x: x.prod(-1), ALL),
    "mean": (lambda x: x.mean(-1), FLOATS),
    "moments": (lambda x: moments(x), FLOATS),
    "amax": (lambda x: x.amax(-1), ALL),
    "amin": (lambda x: x.amin(-1), ALL),
    "argmax": (lambda x: x.int().argmax(-1) if x.dtype == torch.bool else x.argmax(-1), ALL),
    "argmin": (lambda x: x.int().argmin(-1) if x.dtype == torch.bool else x.argmin(-1), ALL),
    "any": (lambda x: (x != 0).any(-1), ALL),
    "all": (lambda x: (x != 0).all(-1), ALL),
}


def moments(x):
    """The means, and behind them the sums of the squared distances."""
    mean = x.mean(-1, keepdim=True)
    return torch.stack([mean.squeeze(-1), (x - mean).square().sum(-1)])


def reductions(driver):
    shapes = [
        ((13, 5, 7), [1]), ((6, 5, 7), [0, 2]), ((3, 400), [1]), ((37,), [0]), ((4, 1), [1]),
        # Rows that do not start at a vector, rows of whole ones, and columns side by side.
        ((3, 1037), [1]), ((5, 3, 64), [0, 2]), ((45, 24), [0]),
    ]
    # Threads that work on one output, and threads in a block.
    groups = [(1, 128), (32, 96), (128, 128)]
    for name, (function, dtypes) in REDUCTIONS.items():
        for dtype, (shape, over), group in itertools.product(dtypes, shapes, groups):
            exact = name not in ("sum", "prod", "mean", "moments")
            values = sample(DTYPES[dtype], shape, special=exact)
            if not exact and values.is_floating_point():
                values = (values / 3).exp().clamp(0.5, 1.9)
            for parts in (1, 3):
                yield from reduction(driver, name, function, dtype, values, over, *group, parts)


def reduction(driver, name, function, dtype, values, over, lanes, block, parts):
    kept = [d for d in range(values.dim()) if d not in over]
    matrix = values.permute(*kept, *over).reshape([values.shape[d] for d in kept] + [-1])
    expected = function(widen(matrix))
    if expected.dtype == torch.float32 and name != "moments":
        expected = expected.to(DTYPES[dtype])
    result = driver.memory(torch.zeros_like(expected))
    there = driver.memory(values)
    args = Reduce(
        output=result.address, input=there.address, outputs=matrix[..., 0].numel(),
        reduced=matrix.shape[-1], output_dims=len(kept), reduced_dims=len(over), lanes=lanes,
        parts=parts,
    )
    states = driver.memory(torch.zeros(3 * parts * expected.numel(), dtype=torch.int64))
    args.states = states.address
    args.output_sizes = dims([values.shape[d] for d in kept])
    args.output_strides = dims([values.stride(d) for d in kept])
    args.reduced_sizes = dims([values.shape[d] for d in over])
    args.reduced_strides = dims([values.stride(d) for d in over])
    args.across = int(bool(kept) and values.stride(kept[-1]) < values.stride(over[-1]))
    shape = (lanes, block // lanes, 1)
    driver.launch(f"{name}_{dtype}", args, block=(shape[1], shape[0], 1) if args.across else shape)
    if parts > 1:
        args.joins, args.across = 1, 1
        driver.launch(f"{name}_{dtype}", args, block=(block // 2, 2, 1))
    ulps = 2 if dtype in HALVES and name != "moments" else 100
    label = f"{name}_{dtype} {tuple(values.shape)} over {over}, {lanes} lanes, {parts} parts"
    yield label, disagreement(result.read(), expected, ulps)


def matmuls(driver):
    sizes = [
        (1, 1, 1), (5, 7, 3), (33, 17, 40), (70, 65, 1), (2, 3, 0), (130, 140, 33), (40, 1, 100),
        (136, 128, 264),
    ]
    both = [False, True]
    for dtype, (m, n, k), left, right in itertools.product(NUMBERS, sizes, both, both):
        a = sample(DTYPES[dtype], (2, 1, k, m) if left else (2, 1, m, k), special=False)
        b = sample(DTYPES[dtype], (3, n, k) if right else (3, k, n), special=False)
        a = (a.transpose(-1, -2) if left else a).expand(2, 3, m, k)
        b = (b.transpose(-1, -2) if right else b).expand(2, 3, k, n)
        yield from multiplication(driver, dtype, a, b)


def multiplication(driver, dtype, a, b):
    """The kernels that take such operands, with the depth whole and in three parts."""
    n, deep = b.shape[-1], a.stride(-1) == 1
    large = ["matmul_large"] if dtype in HALVES + ["f32"] else []
    halves = halves_kernels(a, b) if dtype in HALVES else []
    rows = ["matmul_rows"] if n == 1 and deep and dtype in FLOATS else []
    tiles = {"matmul_small": 16, "matmul": 64, "matmul_large": 128}
    wide = (lambda t: t.double()) if a.is_floating_point() else (lambda t: t)
    expected = torch.matmul(wide(a), wide(b))
    # Each of the k roundings is relative to the size of the terms, not of their sum.
    size = torch.matmul(wide(a).abs(), wide(b).abs()) if a.is_floating_point() else None
    for name, parts in itertools.product(["matmul_small", "matmul", *large, *rows, *halves], [1, 3]):
        if parts > 1 and dtype not in ("f32", "f64") and name not in halves:
            continue
        products = wide(product(driver, name, a, b, tiles.get(name, 16), parts))
        actual = products.sum(2, dtype=products.dtype)
        label = f"{name}_{dtype} {a.shape} {b.shape}, strides {a.stride()} {b.stride()}, {parts} parts"
        if not a.is_floating_point():
            yield label, disagreement(actual, expected, 0)
            continue
        worst = ((actual - expected).abs() - size * torch.finfo(a.dtype).eps * 4).max().item()
        yield label, None if worst <= 1e-12 else f"off by {worst} more than rounding explains"


def halves_kernels(a, b):
    """Those for tensor cores: factors in rows, or in columns."""
    left = "t" if a.stride(-2) == 1 and a.stride(-1) != 1 else "n"
    right = "n" if b.stride(-1) == 1 and b.stride(-2) != 1 else "t"
    return [f"matmul_halves_{left}{right}", f"matmul_halves_large_{left}{right}"]


def product(driver, name, a, b, tile, parts):
    (m, k), n = a.shape[-2:], b.shape[-1]
    halves = name.startswith("matmul_halves")
    if halves:
        tile = 128 if "large" in name else 64
    # Tensor cores leave parts of the sums as they are.
    dtype = torch.float32 if halves and parts > 1 else a.dtype
    result = driver.memory(torch.zeros(2, 3, parts, m, n, dtype=dtype))
    left, right = driver.memory(a), driver.memory(b)
    args = Matmul(
        c=result.address, a=left.address, b=right.address, batches=6, m=m, n=n, k=k,
        a_row=a.stride(-2), a_col=a.stride(-1), b_row=b.stride(-2), b_col=b.stride(-1),
        batch_dims=2, parts=parts, tile=tile, threads=128 if halves else 256,
        batch_sizes=dims([2, 3]),
        a_batch=dims(a.stride()[:2]), b_batch=dims(b.stride()[:2]),
    )
    dtype = next(name for name, known in DTYPES.items() if known == a.dtype)
    driver.launch(f"{name}_{dtype}", args, grid=(2, 2, 4), block=(128, 1, 1) if halves else (16, 16, 1))
    return result.read()


def scans(driver):
    shapes = [(3, 1, 1), (3, 1025, 1), (2, 5000, 1), (2, 7, 300), (1, 300, 3), (2, 0, 1)]
    names = [("cumsum", torch.cumsum), ("cumprod", torch.cumprod)]
    for (name, function), dtype, (outer, size, inner), parts in itertools.product(
        names, [*FLOATS, "i64"], shapes, [1, 7]
    ):
        if parts > 1 and inner > 1:
            continue
        x = sample(DTYPES[dtype], (outer, size, inner), special=False)
        # So that products stay within what there is.
        x = x if name == "cumsum" else torch.where(x > 0, 1, -1).to(x.dtype)
        exact = function(x.double() if x.is_floating_point() else x, 1)
        out, given = driver.memory(torch.zeros_like(x)), driver.memory(x)
        totals = driver.memory(torch.zeros(outer * parts, dtype=torch.int64))
        args = Scan(
            out=out.address, input=given.address, totals=totals.address, outer=outer, size=size,
            inner=inner, parts=parts,
        )
        for joins in range(min(parts, 2)):
            args.joins = joins
            driver.launch(f"{name}_{dtype}", args, block=(256, 1, 1))
        label = f"{name}_{dtype} {tuple(x.shape)}, {parts} parts"
        if dtype == "f64":
            # The order in which the sums are gathered is another one.
            size = x.abs().cumsum(1) * 1e-13
            off = (out.read() - exact).abs() > size
            yield label, f"{off.sum()} are off" if off.any() else None
        else:
            yield label, disagreement(out.read(), exact.to(x.dtype), 1 if dtype != "i64" else 0)


def softmaxes(driver):
    # Rows, columns, distance of the elements of a row, and threads for a row.
    shapes = [(5, 1, 1, 1), (5, 10, 1, 4), (5, 128, 1, 8), (5, 300, 1, 128), (3, 1001, 1, 32),
              (12, 70, 6, 2), (80, 40, 40, 1)]
    for dtype, shape, keeps in itertools.product(FLOATS, shapes, [False, True]):
        rows, cols, inner, lanes = shape
        launch = dict(lanes=lanes, inner=inner, keeps=keeps)
        x = sample(DTYPES[dtype], (rows // inner, cols, inner), special=False)
        grad = sample(DTYPES[dtype], (rows // inner, cols, inner), special=False)
        wide, g = x.double(), grad.double()
        for name, function in [("softmax", torch.softmax), ("log_softmax", torch.log_softmax)]:
            y = function(wide, 1)
            yield from of_rows(driver, name, dtype, x, None, y, launch)
            rounded = y.to(DTYPES[dtype])
            y = rounded.double()
            sums = (g * y if name == "softmax" else g).sum(1, keepdim=True)
            expected = y * (g - sums) if name == "softmax" else g - y.exp() * sums
            yield from of_rows(driver, f"{name}_backward", dtype, grad, rounded, expected, launch)


def of_rows(driver, name, dtype, a, b, expected, launch):
    operands = [driver.memory(tensor) for tensor in (torch.zeros_like(a), a, a if b is None else b)]
    addresses = dict(zip(("out", "a", "b"), (memory.address for memory in operands)))
    lanes, inner, cols = launch["lanes"], launch["inner"], a.shape[1]
    args = Rows(**addresses, rows=a.numel() // cols, cols=cols, inner=inner, lanes=lanes)
    if launch["keeps"]:
        width = min(16 // a.element_size(), 16 if inner == 1 else 4)
        kept = -(-cols // (lanes * width)) * 128 * 16 * (1 if b is None else 2)
        args.kept_bytes = kept if kept <= 32768 else 0
    block = (lanes, 128 // lanes, 1) if inner == 1 else (128 // lanes, lanes, 1)
    driver.launch(f"{name}_{dtype}", args, block=block, shared=args.kept_bytes)
    worst = (operands[0].read().double() - expected).abs().max().item()
    label = f"{name}_{dtype} {tuple(a.shape)} {launch}"
    yield label, None if worst <= bound(dtype, expected) else f"off by {worst}"


def layer_norms(driver):
    # Rows, columns, and threads for a row.
    shapes = [(5, 3, 1), (37, 10, 4), (5, 128, 8), (70, 300, 128), (3, 1001, 32)]
    for dtype, shape, keeps in itertools.product(FLOATS, shapes, [False, True]):
        for parameters in dict.fromkeys([dtype, "f32" if dtype in HALVES else dtype, None]):
            yield from layer_norm(driver, dtype, shape, keeps, parameters)
        yield from layer_norm(driver, dtype, shape, keeps, dtype, centered=0)


def layer_norm(driver, dtype, shape, keeps, parameters, centered=1):
    (rows, cols, lanes), epsilon = shape, 1e-5
    x, grad = (sample(DTYPES[dtype], (rows, cols), special=False) for _ in range(2))
    kind = DTYPES[parameters or dtype]
    weight, bias = (sample(kind, (cols,), special=False) for _ in range(2))
    operands = [tensor.double().requires_grad_() for tensor in (x, weight, bias)]
    given = operands[1:] if parameters else [None, None]
    if centered:
        expected = torch.nn.functional.layer_norm(operands[0], [cols], *given, epsilon)
    else:
        expected = torch.nn.functional.rms_norm(operands[0], [cols], given[0], epsilon) + given[1]
    expected.backward(grad.double())
    there = {"x": x, "grad": grad, "weight": weight, "bias": bias}
    there = {name: driver.memory(tensor) for name, tensor in there.items()}
    addresses = {name: memory.address for name, memory in there.items()}
    if not parameters:
        addresses.update(weight=0, bias=0)
    wide = int(parameters is not None and parameters != dtype)
    args = NormalizedRows(**addresses, rows=rows, cols=cols, epsilon=epsilon, lanes=lanes)
    args.wide, args.centered = wide, centered
    label = f"{dtype} {shape} parameters {parameters}, {keeps}, centered {centered}"
    steps = -(-cols // (lanes * (16 // x.element_size())))
    result, kept = driver.memory(torch.zeros_like(x)), steps * 128 * 16
    args.out, args.kept_bytes = result.address, kept if keeps and kept <= 32768 else 0
    block = (lanes, 128 // lanes, 1)
    driver.launch(f"layer_norm_{dtype}", args, block=block, shared=args.kept_bytes)
    yield close(f"layer_norm_{label}", dtype, result, expected)
    result = driver.memory(torch.zeros_like(x))
    statistics = driver.memory(torch.zeros(rows, 2, dtype=torch.float64))
    args.out, args.statistics = result.address, statistics.address
    args.kept_bytes = 2 * kept if keeps and 2 * kept <= 32768 else 0
    driver.launch(f"layer_norm_backward_{dtype}", args, block=block, shared=args.kept_bytes)
    yield close(f"layer_norm_backward_{label}", dtype, result, operands[0].grad)
    if parameters:
        for parts in (1, 3):
            slopes = [driver.memory(torch.zeros_like(tensor)) for tensor in (weight, bias)]
            sums = driver.memory(torch.zeros(parts, cols, 2, dtype=torch.float64))
            args = NormParameters(
                weight=slopes[0].address, bias=slopes[1].address, x=addresses["x"],
                grad=addresses["grad"], statistics=statistics.address, sums=sums.address,
                rows=rows, cols=cols, parts=parts, wide=wide,
            )
            for args.joins in range(min(parts, 2)):
                driver.launch(f"layer_norm_parameters_{dtype}", args)
            for slope, operand in zip(slopes, operands[1:]):
                entry = f"layer_norm_parameters_{label}, {parts} parts"
                yield close(entry, dtype, slope, operand.grad)


def close(label, dtype, result, expected):
    worst = (result.read().double() - expected).abs().max().item()
    return label, None if worst <= bound(dtype, expected) else f"off by {worst}"


def bound(dtype, expected):
    """The error that rounding explains."""
    unit = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 3e-6, "f64": 1e-14}[dtype]
    return unit * (1 + expected.abs().max().item())


def indexing(driver):
    # Rows of whole units of 16 bytes, and others; one element each; many rows.
    for shape in [(3, 6, 4, 5), (2, 7, 5, 32), (40, 9, 3, 1), (1, 50, 300, 1)]:
        for dtype in ALL:
            yield from indexing_of(driver, dtype, *shape)


def indexing_of(driver, dtype, outer, size, count, inner):
    table = sample(DTYPES[dtype], (outer, size, inner), special=False)
    places = torch.randint(size, (outer, count, inner))
    chosen = torch.randint(size, (count,))
    none = torch.zeros(outer, count, inner, dtype=table.dtype)
    shape = dict(outer=outer, size=size, count=count, inner=inner)
    mover = MOVER[table.element_size()]
    label = f"{dtype} {tuple(shape.values())}"
    wanted = table.gather(1, places)
    yield from index(driver, f"gather_{mover}", label, none, table, places, shape, wanted)
    wanted = table[:, chosen]
    yield from index(driver, f"index_select_{mover}", label, none, table, chosen, shape, wanted)
    source = sample(table.dtype, (outer, count, inner), special=False)
    if count <= size:
        # Each element is chosen once, since it is not fixed which of several is left.
        order = torch.rand(outer, size, inner).argsort(1)[:, :count].contiguous()
        written = table.scatter(1, order, source)
        yield from index(driver, f"scatter_{mover}", label, table, source, order, shape, written)
        order = torch.randperm(size)[:count]
        written = table.index_copy(1, order, source)
        entry = f"index_copy_{mover}"
        yield from index(driver, entry, label, table, source, order, shape, written)
    # Of several equal ones it makes no difference.
    same = torch.ones_like(source)
    written = table.scatter(1, places, same)
    yield from index(driver, f"scatter_{mover}", label, table, same, places, shape, written)
    written = table.index_copy(1, chosen, same)
    yield from index(driver, f"index_copy_{mover}", label, table, same, chosen, shape, written)
    # Whole numbers: the order of the additions then makes no difference.
    if table.is_floating_point():
        table, source = table.sign(), source.sign()
    added = table.scatter_add(1, places, source)
    yield from index(driver, f"scatter_add_{dtype}", label, table, source, places, shape, added)
    added = table.index_add(1, chosen, source)
    yield from index(driver, f"index_add_{dtype}", label, table, source, chosen, shape, added)


def index(driver, entry, label, out, source, places, shape, expected):
    result, there, where = driver.memory(out), driver.memory(source), driver.memory(places)
    addresses = dict(out=result.address, source=there.address, index=where.address)
    driver.launch(entry, Index(**addresses, **shape), grid=(2, 2, 1), block=(32, 4, 1))
    yield f"{entry} {label}", disagreement(result.read(), expected, 0)


def out_of_range(driver):
    """An index out of range must stop the kernel. The device is of no use afterwards."""
    table, places = torch.zeros(1, 4, 2), torch.tensor([[[0, 1], [4, 2]]])
    none = torch.zeros(1, 2, 2)
    shape = dict(outer=1, size=4, count=2, inner=2)
    try:
        list(index(driver, "gather_i32", "", none, table, places, shape, none))
        result = "no error"
    except RuntimeError as error:
        result = str(error)
    expected = "CUDA_ERROR_ASSERT" in result
    yield "gather_i32 out of range", None if expected else f"gave {result}"


def philox(seed, index, offset):
    """The four words of one element, by the paper."""
    mask = 2**32 - 1
    key, c = [seed & mask, seed >> 32], [index & mask, index >> 32, offset & mask, offset >> 32]
    for _ in range(10):
        first, second = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [second >> 32 ^ c[1] ^ key[0], second & mask, first >> 32 ^ c[3] ^ key[1], first & mask]
        key = [(key[0] + 0x9E3779B9) & mask, (key[1] + 0xBB67AE85) & mask]
    return c


def unit(dtype, words, i):
    """Element i of [0, 1), of Philox's words one after another."""
    if dtype == "f64":
        return (pair(words, i) >> 11) * 2.0**-53
    return (words[i] >> 8) * 2.0**-24


def pair(words, i):
    return words[2 * i] << 32 | words[2 * i + 1]


def normal(dtype, words, i):
    """Element i: an even one and the odd one after it come of one radius and one angle."""
    radius = unit(dtype, words, i & ~1) + (2.0**-53 if dtype == "f64" else 2.0**-24)
    angle = 2 * math.pi * unit(dtype, words, i | 1)
    return math.sqrt(-2 * math.log(radius)) * (math.sin(angle) if i & 1 else math.cos(angle))


def random(driver):
    if philox(0, 0, 0) != [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]:
        raise AssertionError("this is not Philox")
    n, seed, offset = 3001, 0x123456789ABCDEF0, 2**33 + 7
    words = [word for block in range(n // 2 + 1) for word in philox(seed, block, offset)]
    for dtype in ALL:
        def run(name, **fields):
            result = driver.memory(torch.zeros(n, dtype=DTYPES[dtype]))
            args = Random(out=result.address, numel=n, seed=seed, offset=offset, **fields)
            driver.launch(f"{name}_{dtype}", args)
            return result.read()

        def stored(values):
            tensor = torch.tensor(values, dtype=torch.float64)
            return (tensor.float() if dtype != "f64" else tensor).to(DTYPES[dtype])

        stays = torch.tensor([unit("f32", words, i) < 0.3 for i in range(n)])
        if dtype in FLOATS:
            wanted = stored([-1.5 + 3.75 * unit(dtype, words, i) for i in range(n)])
            wanted = torch.where(wanted < 2.25, wanted, -1.5)
            yield f"uniform_{dtype}", disagreement(run("uniform", a=-1.5, b=2.25), wanted, 0)
            wanted = stored([0.25 + 2.0 * normal(dtype, words, i) for i in range(n)])
            # The mean is added last, which takes digits from small sums.
            off = (run("normal", a=0.25, b=2.0).double() - wanted.double()).abs().max().item()
            bound = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2.5e-7, "f64": 2e-15}[dtype]
            yield f"normal_{dtype}", None if off <= bound * 4 else f"off by {off}"
            whole = driver.memory((torch.arange(n) % 64).to(DTYPES[dtype]))
            wanted = torch.where(stays, torch.arange(n) % 64 * 4, 0).to(DTYPES[dtype])
            left = run("dropout", a=0.3, b=4.0, input=whole.address)
            yield f"dropout_{dtype}", disagreement(left, wanted, 0)
        limits = {"bool": (0, 2), "u8": (3, 250), "i8": (-100, 120), "bf16": (-200, 200)}
        low, high = limits.get(dtype, (-700, 800))
        wanted = torch.tensor([low + pair(words, i) % (high - low) for i in range(n)])
        result = run("random", low=low, high=high)
        yield f"random_{dtype}", disagreement(result, wanted.to(DTYPES[dtype]), 0)
        yield f"bernoulli_{dtype}", disagreement(run("bernoulli", a=0.3), stays.to(DTYPES[dtype]), 0)


def ranges(driver):
    for dtype in NUMBERS:
        result = driver.memory(torch.zeros(1000, dtype=DTYPES[dtype]))
        args = Range(out=result.address, numel=1000, start=-3.7, step=0.1, istart=-5, istep=3)
        driver.launch(f"arange_{dtype}", args)
        steps = torch.arange(1000)
        if dtype in FLOATS:
            wanted = -3.7 + steps.double() * 0.1
            wanted = (wanted.float() if dtype in HALVES else wanted).to(DTYPES[dtype])
        else:
            wanted = (-5 + steps * 3).to(DTYPES[dtype])
        yield f"arange_{dtype}", disagreement(result.read(), wanted, 0)


def joined(driver):
    # Rows, and the bytes of a row of each array: units of 16, 8, 4, 2 and 1, one array, and many.
    widths = [[32, 4096, 16], [40, 8], [12, 20, 4000], [6, 2], [3, 5, 0, 1], [48], [16] * 64]
    for rows, widths in itertools.product([1, 7], widths):
        arrays = [torch.randint(0, 256, (rows, width), dtype=torch.uint8) for width in widths]
        there = [driver.memory(array) for array in arrays]
        wanted = torch.cat(arrays, 1)
        result = driver.memory(torch.zeros_like(wanted))
        args = Cat(out=result.address, rows=rows, row_bytes=wanted.shape[1])
        args.count, args.unit = len(widths), math.gcd(16, *widths)
        for part, memory in enumerate(there):
            args.parts[part] = memory.address
            args.starts[part], args.widths[part] = sum(widths[:part]), widths[part]
            args.first_blocks[part + 1] = args.first_blocks[part] + 1 + part % 2
        blocks = args.first_blocks[len(widths)]
        driver.launch("cat_u8", args, grid=(blocks, 1, 1), block=(32, 1, 1))
        yield f"cat_u8 {rows} rows {widths}", disagreement(result.read(), wanted, 0)
