"""Gradients of both orders of scans, norms, products along a dimension and spreads, with zeros and
ties where they are kinks for formulas that divide; and of writes to what indices choose. In f64, since
PyTorch divides by small numbers."""

import torch

from gradients import F64, Gradients


def gathered():
    """All of them."""
    make = Gradients(24)
    x = make.uniform((3, 4), 0.3, 2, F64)
    signed = make.uniform((2, 3, 4), dtype=F64)
    zeros = torch.tensor([[2.0, 0.0, 3.0, -1.0], [0.0, 0.5, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0]], dtype=F64)
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        function = getattr(torch, name)
        for dim in (0, 1, -1):
            yield make.case(name, [signed], lambda a: function(a, dim), dim=dim)
        yield make.case(name, [make.uniform((), dtype=F64)], lambda a: function(a, 0), dim=0)
    yield make.case("cumprod", [zeros], lambda a: a.cumprod(1), dim=1)
    for name in ("cummax", "cummin"):
        function = getattr(torch, name)
        yield make.case(name, [signed], lambda a: function(a, 1).values, dim=1)
    for values in (x, zeros):
        for dim, keep in ((0, False), (1, True), (-1, False)):
            run = lambda a: a.prod(dim, keepdim=keep)
            yield make.case("prod_dim", [values], run, dim=dim, keepdim=keep)
    for dims, keep in (([0, 1, 2], False), ([1], True), ([0, -1], False)):
        run = lambda a: a.logsumexp(dims, keepdim=keep)
        yield make.case("logsumexp", [signed], run, dims=dims, keepdim=keep)
        for p in (0.5, 1, 1.5, 2, 3, -1, "inf", "-inf"):
            run = lambda a: a.norm(float(p), dims, keepdim=keep)
            yield make.case("norm", [signed], run, p=p, dims=dims, keepdim=keep)
        for correction in (0, 1, -1, 0.5):
            for name in ("var", "std"):
                function = getattr(torch, name)
                run = lambda a: function(a, dim=dims, correction=correction, keepdim=keep)
                yield make.case(name, [signed], run, dims=dims, correction=correction, keepdim=keep)
    run = lambda a: a.nansum([0])
    yield make.case("nansum", [x], run, dims=[0], keepdim=False)
    run = lambda a: a.nanmean([1])
    yield make.case("nanmean", [x], run, dims=[1], keepdim=False)
    yield make.case("dist", [x, make.uniform((4,), dtype=F64)], lambda a, b: torch.dist(a, b, 3), p=3)
    yield from chosen(make)
    yield from in_order(make)
    yield from combined(make)


def chosen(make):
    """Writes to what indices choose; no index is twice, except where values are added."""
    x, values = make.uniform((3, 4), dtype=F64), make.uniform((2, 4), dtype=F64)
    at = torch.tensor([[0, 2, 1], [2, 1, 0]])
    for dim in (0, 1):
        run = lambda a, index, b: a.square().scatter(dim, index, b.square())
        yield make.case("scatter", [x, at, values[:, :3]], run, dim=dim)
    yield make.case("scatter of a number", [x, at], lambda a, index: a.square().scatter(1, index, 2.5), dim=1)
    rows = torch.tensor([2, 0])
    run = lambda a, index, b: a.square().index_copy(0, index, b.square())
    yield make.case("index_copy", [x, rows, values], run, dim=0)
    for mask in (x > 0, x[0] > 0, x[:, :1] > 0):
        run = lambda a, mask, b: a.square().masked_scatter(mask, b.square())
        yield make.case("masked_scatter", [x, mask, make.uniform((14,), dtype=F64)], run)
    columns = torch.tensor([[1], [3]])
    for accumulate in (False, True):
        run = lambda a, *b: a.square().index_put(b[:-1], b[-1].square(), accumulate)
        yield make.case("index_put", [x, rows, values], run, accumulate=accumulate)
        yield make.case("index_put", [x, rows, columns, values[0, :1]], run, accumulate=accumulate)
        yield make.case("index_put", [x, torch.tensor([True, False, True]), values], run, accumulate=accumulate)
    yield make.case("index_put", [x, torch.tensor([1, 1]), values], run, accumulate=True)

    def set_middle(a, index, b):
        a = a.square()
        a[:, index] = b.square()
        return a

    yield make.case("set_i in the middle", [x, torch.tensor([3, 1]), values[:1, :2]], set_middle)
    yield make.case("set_i in the middle", [x, x[0] > 0, values[0, 0]], set_middle)
    yield make.case("i in the middle", [x, torch.tensor([3, 1, 3])], lambda a, index: a.square()[:, index])


def in_order(make):
    """Sorted and selected elements, and what lies between two of them. No two are equal."""
    x = make.uniform((3, 5), dtype=F64)
    for dim, down in ((0, False), (1, True)):
        run = lambda a: a.square().sort(dim, descending=down).values
        yield make.case("sort of squares", [x], run, dim=dim, descending=down)
    yield make.case("topk of squares", [x], lambda a: a.square().topk(2, 1).values, k=2, dim=1, largest=True)
    yield make.case("kthvalue of squares", [x], lambda a: a.square().kthvalue(3, 1).values, k=3, dim=1, keepdim=False)
    yield make.case("median of squares", [x], lambda a: a.square().median())
    yield make.case("median_dim of squares", [x], lambda a: a.square().median(0).values, dim=0, keepdim=False)
    q = torch.tensor([0.2, 0.7], dtype=F64)
    run = lambda a, b: a.square().quantile(b.square(), 1)
    yield make.case("quantile of squares", [x, q], run, dim=1, keepdim=False, interpolation="linear")
    for how in ("lower", "higher", "nearest", "midpoint"):
        run = lambda a: a.square().quantile(0.3, 1, interpolation=how)
        yield make.case("quantile of squares", [x], run, dim=1, keepdim=False, interpolation=how, q=0.3)
    yield make.case("diff of squares", [x], lambda a: a.square().diff(2, 1), n=2, dim=1)
    yield make.case("repeat_interleave of squares", [x], lambda a: a.square().repeat_interleave(2, 1), repeats=2, dim=1)


def combined(make):
    """Reductions to indices, windows, copies with a part replaced, and products of vectors."""
    x, values = make.uniform((3, 4), dtype=F64), make.uniform((3, 4), dtype=F64)
    at = torch.tensor([[0, 2, 1, 0], [2, 1, 0, 0], [0, 0, 0, 1]])
    for how in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            run = lambda a, index, b: a.square().scatter_reduce(0, index, b.square(), how, include_self=own)
            yield make.case("scatter_reduce of squares", [x, at, values], run, dim=0, reduce=how, include_self=own)
            run = lambda a, index, b: a.square().index_reduce(1, index, b[:, :3].square(), how, include_self=own)
            if how != "sum":
                index = torch.tensor([3, 0, 3])
                yield make.case("index_reduce of squares", [x, index, values], run, dim=1, reduce=how, include_self=own)
    for size, step in ((2, 1), (3, 2), (1, 3)):
        yield make.case("unfold of squares", [x], lambda a: a.square().unfold(1, size, step), dim=1, size=size, step=step)
    run = lambda a, b: a.square().select_scatter(b[:, 0].square(), 1, -2)
    yield make.case("select_scatter of squares", [x, values], run)
    run = lambda a, b: a.square().slice_scatter(b[:2].square(), 0, 0, 3, 2)
    yield make.case("slice_scatter of squares", [x, values], run)
    run = lambda a, b: a.square().diagonal_scatter(b[0, :3].square(), 1)
    yield make.case("diagonal_scatter of squares", [x, values], run)
    run = lambda a, index, b: a.square().put(index, b[0, :2].square(), accumulate=True)
    yield make.case("put of squares", [x, torch.tensor([-1, 3]), values], run)
    yield make.case("cross", [x[:, :3], values[:1, :3]], lambda a, b: torch.linalg.cross(a, b, dim=1), dim=1)
    yield make.case("vecdot", [x, values], lambda a, b: torch.linalg.vecdot(a, b, dim=0), dim=0)
    square = make.uniform((2, 3, 3), dtype=F64)
    for n in (1, 2, 5):
        yield make.case("matrix_power", [square], lambda a: a.matrix_power(n), n=n)
    chain = [make.uniform(shape, dtype=F64) for shape in ((3,), (3, 4), (4, 2), (2, 5))]
    yield make.case("multi_dot", chain, lambda *a: torch.linalg.multi_dot(a))

