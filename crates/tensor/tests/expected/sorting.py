"""Sorting, selection, searches and counts: ties, NaN, infinities, zeros of both signs, every dtype,
any dimension, empty and 0-dimensional tensors."""

import torch

from cases import DTYPES, MORE_DTYPES, Source, case

F32, F64, I64 = torch.float32, torch.float64, torch.int64
NAN, INF = float("nan"), float("inf")
INTERPOLATIONS = ["linear", "lower", "higher", "nearest", "midpoint"]


def sorting():
    """All of them."""
    source = Source(31)
    special = torch.tensor([[0.5, NAN, -INF, 2.0, -0.0, 0.0, NAN], [INF, 1.0, 1.0, -3.0, 1.0, NAN, INF]])
    yield from sorted_in_every_dtype(source)
    inputs = [(special, 1), (special, 0), (source.uniform((3, 4, 2)), 1), (source.uniform((40,)), 0),
              (torch.tensor(3.0), 0), (torch.zeros(2, 0), 1), (torch.zeros(0, 2), 1)]
    for x, dim in inputs:
        for down in (False, True):
            values, places = x.sort(dim=dim, descending=down, stable=True)
            yield case("sort", [x], {"dim": dim, "descending": down}, output=values)
            yield case("argsort", [x], {"dim": dim, "descending": down}, output=places)
    yield case("msort", [special], output=special.msort())
    yield from selected(source, special)
    yield from between(source, special)
    yield from grouped(source)
    yield from searched(source)
    yield from counted(source)


def some(source, shape, dtype):
    """Elements of a dtype, some of which are equal."""
    if dtype == torch.bool:
        return source.integers(shape, 0, 2, dtype)
    return source.integers(shape, 0 if dtype == torch.uint8 else -5, 6, dtype)


def sorted_in_every_dtype(source):
    for dtype in {**DTYPES, **MORE_DTYPES}.values():
        x = some(source, (2, 9), dtype)
        for down in (False, True):
            values, places = x.sort(dim=1, descending=down, stable=True)
            yield case("sort", [x], {"dim": 1, "descending": down}, output=values)
            yield case("argsort", [x], {"dim": 1, "descending": down}, output=places)
        yield case("mode", [x], {"dim": 1, "keepdim": False}, output=x.mode(1).values)
        if dtype != torch.bool:
            yield case("topk", [x], {"k": 4, "dim": 1, "largest": True}, output=x.topk(4, 1).values)
            yield case("kthvalue", [x], {"k": 4, "dim": 1, "keepdim": True},
                       output=x.kthvalue(4, 1, keepdim=True).values)
            yield case("median_dim", [x], {"dim": 0, "keepdim": False}, output=x.median(0).values)
            yield case("median", [x], output=x.median())


def selected(source, special):
    long = source.uniform((2, 60))
    for x, k in ((special, 3), (special, 7), (special, 0), (long, 10), (long, 50)):
        for largest in (True, False):
            values, places = x.topk(k, 1, largest)
            yield case("topk", [x], {"k": k, "dim": 1, "largest": largest}, output=values)
            if x is long:
                yield case("topk places", [x], {"k": k, "dim": 1, "largest": largest}, output=places)
    for k in (1, 4, 7):
        yield case("kthvalue", [special], {"k": k, "dim": 1, "keepdim": False},
                   output=special.kthvalue(k, 1).values)
    yield case("kthvalue", [long], {"k": 30, "dim": 1, "keepdim": False}, output=long.kthvalue(30, 1).values)
    for x in (special, source.uniform((4, 6)), source.uniform((3, 5, 2))):
        yield case("median", [x], output=x.median())
        yield case("nanmedian", [x], output=x.nanmedian())
        for dim, keep in ((0, False), (1, True), (-1, False)):
            args = {"dim": dim, "keepdim": keep}
            yield case("median_dim", [x], args, output=x.median(dim, keepdim=keep).values)
            yield case("nanmedian_dim", [x], args, output=x.nanmedian(dim, keepdim=keep).values)
            if x is not special:
                # PyTorch compares NaN with nothing, so its modes depend on where NaN stands.
                yield case("mode", [x], args, output=x.mode(dim, keepdim=keep).values)
    nothing = torch.full((2, 3), NAN)
    yield case("nanmedian_dim", [nothing], {"dim": 1, "keepdim": False}, output=nothing.nanmedian(1).values)
    yield case("median", [torch.zeros(0)], output=torch.zeros(0).median())


def between(source, special):
    x, q = source.uniform((3, 6), dtype=F64), torch.tensor([0.0, 0.3, 0.5, 1.0], dtype=F64)
    for name in ("quantile", "nanquantile"):
        function = getattr(torch, name)
        for how in INTERPOLATIONS:
            for dim, keep in ((None, False), (0, False), (1, True), (None, True)):
                args = {"dim": dim, "keepdim": keep, "interpolation": how}
                output = function(x, q, dim=dim, keepdim=keep, interpolation=how)
                yield case(name, [x, q], args, output=output)
                output = function(x, 0.4, dim=dim, keepdim=keep, interpolation=how)
                yield case(name, [x], {**args, "q": 0.4}, output=output)
            finite = special.where(~special.isinf(), torch.tensor(4.0))
            output = function(finite, 0.75, dim=1, interpolation=how)
            args = {"dim": 1, "keepdim": False, "interpolation": how, "q": 0.75}
            yield case(name, [finite], args, output=output)


def grouped(source):
    x = source.integers((3, 5), 0, 4)
    rows = torch.tensor([[1, 2], [0, 3], [1, 2], [1, 1], [0, 3], [0, 3]])
    inputs = [(x, None), (rows, None), (rows, 0), (rows, 1), (x.to(F32), None), (x > 1, None), (torch.zeros(0), None),
              (torch.tensor(7), None), (torch.tensor([1.0, NAN, 1.0, NAN]), None), (rows.reshape(3, 2, 2), 1)]
    for name in ("unique", "unique_consecutive"):
        function = getattr(torch, name)
        for values, dim in inputs:
            found = function(values, return_inverse=True, return_counts=True, dim=dim)
            for part, output in zip(("values", "inverse", "counts"), found):
                yield case(f"{name} {part}", [values], {"dim": dim}, output=output)


def searched(source):
    bounds = torch.tensor([-1.0, 0.0, 0.0, 1.5, 3.0])
    x = torch.tensor([[-2.0, 0.0, 1.0], [1.5, 3.0, INF], [NAN, -INF, 2.0]])
    rows = source.uniform((3, 6)).sort(1).values
    for right in (False, True):
        args = {"right": right}
        yield case("searchsorted", [bounds, x], args, output=torch.searchsorted(bounds, x, right=right))
        yield case("searchsorted", [rows, x], args, output=torch.searchsorted(rows, x, right=right))
        yield case("bucketize", [x, bounds], args, output=torch.bucketize(x, bounds, right=right))
        for dtype in (torch.float16, torch.bfloat16, torch.int32, torch.int8, torch.uint8, I64):
            edges, wanted = torch.tensor([1, 3, 3, 9]).to(dtype), torch.tensor([0, 3, 4, 9, 12]).to(dtype)
            output = torch.searchsorted(edges, wanted, right=right)
            yield case("searchsorted", [edges, wanted], args, output=output)
    mixed = source.uniform((2, 7))
    order, wanted = mixed.argsort(1), source.uniform((2, 4))
    yield case("searchsorted by", [mixed, wanted, order], {"right": False},
               output=torch.searchsorted(mixed, wanted, sorter=order))
    for x, tests in ((source.integers((3, 4), 0, 9), torch.tensor([2, 5, 7])),
                     (torch.tensor([1.0, NAN, 2.5]), torch.tensor([[NAN, 2.5], [0.0, 9.0]])),
                     (torch.tensor([1, 2]), torch.tensor([2.0, 1.5])), (torch.tensor([1, 2]), torch.zeros(0, dtype=I64))):
        yield case("isin", [x, tests], output=torch.isin(x, tests))


def counted(source):
    x = source.integers((12,), 0, 6)
    yield case("bincount", [x], {"minlength": 0}, output=x.bincount())
    yield case("bincount", [x.to(torch.uint8)], {"minlength": 9}, output=x.bincount(minlength=9))
    for dtype in (F32, F64, I64):
        weights = source.integers((12,), -3, 4, dtype)
        yield case("bincount of weights", [x, weights], {"minlength": 2}, output=x.bincount(weights, 2))
    values = source.uniform((5, 8), -2, 2)
    for bins, low, high in ((4, -2, 2), (10, 0, 0), (3, -1, 1), (7, 0.5, 1.5)):
        args = {"bins": bins, "min": low, "max": high}
        yield case("histc", [values], args, output=torch.histc(values, bins, low, high))
    yield case("one_hot", [x], {"classes": 7}, output=torch.nn.functional.one_hot(x, 7))
    yield case("one_hot", [x.reshape(3, 4)], {"classes": None}, output=torch.nn.functional.one_hot(x.reshape(3, 4)))
    for n, dim in ((1, 0), (1, 1), (2, 1), (9, 1)):
        yield case("diff", [values], {"n": n, "dim": dim}, output=values.diff(n, dim))
    yield case("diff", [values > 0], {"n": 1, "dim": 1}, output=(values > 0).diff())
    for dim in (None, 0, 1):
        output = values.repeat_interleave(3, dim)
        yield case("repeat_interleave", [values], {"repeats": 3, "dim": dim}, output=output)
    repeats = torch.tensor([2, 0, 1, 3, 1])
    yield case("repeat_interleave_by", [values, repeats], {"dim": 0}, output=values.repeat_interleave(repeats, 0))
