"""The kernels that sort, search, and reduce to where indices choose; and exponential numbers."""

import itertools
import math

import torch

from abi import Random, Search, Sort
from others import DTYPES, FLOATS, index, philox, unit
from values import disagreement, sample

CHUNK = 2048


def check(driver):
    yield from sorts(driver)
    yield from searches(driver)
    yield from folds(driver)
    yield from exponentials(driver)


def sorts(driver):
    # Rows, their length, the first place that is wanted, and how many.
    shapes = [(7, 1, 0, 1), (300, 5, 0, 5), (3, 1000, 17, 20), (2, 2048, 0, 2048), (2, 2049, 0, 2049),
              (3, 9000, 0, 9000), (2, 9000, 0, 10), (2, 9000, 4000, 1), (1, 7000, 5000, 2000)]
    for dtype, shape, descending in itertools.product(["f32", "f64", "i32", "i64"], shapes, [False, True]):
        rows, size, first, count = shape
        x = sample(DTYPES[dtype], (rows, size))
        order = x.sort(dim=1, descending=descending, stable=True).indices
        there, out = driver.memory(x), driver.memory(torch.zeros(rows, count, dtype=torch.int64))
        chunks = -(-size // CHUNK)
        width = min(size, chunks * (first + count))
        words = x.element_size() // 4
        runs = [driver.memory(torch.zeros(rows, width, words, dtype=torch.int64)) for _ in range(2)]
        args = Sort(
            out=out.address, input=there.address, rows=rows, size=size, first=first, count=count,
            width=width, descending=int(descending),
        )
        args.to, args.source = runs[0].address, runs[1].address
        driver.launch(f"argsort_{dtype}", args, block=(256, 1, 1))
        args.run = CHUNK
        while args.run < size:
            args.to, args.source = args.source, args.to
            driver.launch(f"argsort_{dtype}", args, block=(256, 1, 1))
            args.run *= 2
        expected = order[:, first : first + count].contiguous()
        yield f"argsort_{dtype} {shape}, {descending}", disagreement(out.read(), expected, 0)


def searches(driver):
    for dtype, rows, size, right, by in itertools.product(
        ["f32", "f64", "i64"], [1, 5], [0, 1, 77], [False, True], [False, True]
    ):
        x = sample(DTYPES[dtype], (rows, size), special=False)
        values = sample(DTYPES[dtype], (rows, 40), special=False)
        order = x.argsort(1)
        elements = x if by else x.gather(1, order)
        sorter = order if by else None
        expected = torch.searchsorted(elements, values, right=right, sorter=sorter)
        there = [driver.memory(tensor) for tensor in (elements, values, order)]
        out = driver.memory(torch.zeros_like(expected))
        args = Search(
            out=out.address, sorted=there[0].address, values=there[1].address,
            sorter=there[2].address if by else 0, rows=rows, size=size, count=40, right=int(right),
        )
        driver.launch(f"searchsorted_{dtype}", args)
        label = f"searchsorted_{dtype} {rows} rows of {size}, {right}, {by}"
        yield label, disagreement(out.read(), expected, 0)


def folds(driver):
    for (outer, size, count, inner), dtype in itertools.product(
        [(3, 6, 4, 5), (40, 9, 30, 1), (1, 50, 300, 2)], ["f32", "f64", "i64"]
    ):
        places = torch.randint(size, (outer, count, inner))
        shape = dict(outer=outer, size=size, count=count, inner=inner)
        label = f"{dtype} {tuple(shape.values())}"
        for name, how in (("prod", "prod"), ("amax", "amax"), ("amin", "amin")):
            special = name != "prod"
            table = sample(DTYPES[dtype], (outer, size, inner), special=special)
            source = sample(DTYPES[dtype], (outer, count, inner), special=special)
            if not special and table.is_floating_point():
                # Powers of two: the order of the products makes no difference.
                table, source = table.sign() * 2, source.sign() / 2
            expected = table.scatter_reduce(1, places, source, how)
            entry = f"scatter_{name}_{dtype}"
            yield from index(driver, entry, label, table, source, places, shape, expected)


def exponentials(driver):
    n, seed, offset = 3001, 0x123456789ABCDEF0, 2**33 + 7
    words = [word for block in range(n // 2 + 1) for word in philox(seed, block, offset)]
    for dtype in FLOATS:
        result = driver.memory(torch.zeros(n, dtype=DTYPES[dtype]))
        args = Random(out=result.address, numel=n, seed=seed, offset=offset, a=2.5)
        driver.launch(f"exponential_{dtype}", args)
        step = 2.0**-53 if dtype == "f64" else 2.0**-24
        wanted = [-math.log(unit(dtype, words, i) + step) / 2.5 for i in range(n)]
        tensor = torch.tensor(wanted, dtype=torch.float64)
        expected = (tensor.float() if dtype != "f64" else tensor).to(DTYPES[dtype])
        yield f"exponential_{dtype}", disagreement(result.read(), expected, 4)
