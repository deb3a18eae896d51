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
