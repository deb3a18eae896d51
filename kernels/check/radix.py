"""The kernels that sort long rows digit by digit, and select elements of them."""

import itertools

import torch

from abi import Radix
from others import DTYPES
from values import disagreement, sample

DIGITS = 256
TILE = 6144


def check(driver):
    # Rows, their length, and the tiles of a part.
    shapes = [(1, 2049, 1), (3, 3071, 1), (2, 6144, 1), (2, 6145, 2), (3, 9001, 1), (1, 30000, 3)]
    for dtype, shape, descending in itertools.product(["f32", "f64", "i32", "i64"], shapes, [False, True]):
        rows, size, tiles = shape
        # Few different elements, or many.
        x = sample(DTYPES[dtype], (rows, size))
        if tiles == 1 and descending:
            x = x.to(torch.int8).to(x.dtype)
        call = Call(driver, dtype, x, tiles, descending)
        order = x.sort(dim=1, descending=descending, stable=True).indices
        wanted = [(0, size), (17, 1000)]
        for first, count in wanted:
            result = call.sort(first, count)
            expected = order[:, first : first + count].contiguous()
            yield f"radix_{dtype} {shape}, {descending}, {first}, {count}", disagreement(result, expected, 0)
        for first, count in [(0, 1), (size // 2, 1), (size - 1, 1), (0, 10), (0, 1000)]:
            result = call.select(first, count)
            # Several are selected, and not sorted yet, but equal ones are in order.
            again = x.gather(1, result.clamp(min=0)).sort(dim=1, descending=descending, stable=True).indices
            result, expected = result.gather(1, again), order[:, first : first + count].contiguous()
            yield f"radix_{dtype} {shape}, {descending}, select {first}, {count}", disagreement(result, expected, 0)


class Call:
    """Launches on the rows of a tensor, with the memory that they need."""

    def __init__(self, driver, dtype, x, tiles, descending):
        self.driver, self.dtype, self.bits = driver, dtype, 8 * x.element_size()
        rows, size = x.shape
        part = tiles * TILE
        parts = -(-size // part)
        self.x = driver.memory(x)
        self.keys = [driver.memory(torch.zeros_like(x)) for _ in range(2)]
        self.places = [driver.memory(torch.zeros(rows, size, dtype=torch.int32)) for _ in range(2)]
        self.counts = driver.memory(torch.full((rows, DIGITS, parts), -1, dtype=torch.int32))
        self.totals = driver.memory(torch.full((rows, DIGITS), -1, dtype=torch.int32))
        self.selected = [driver.memory(torch.zeros(rows, 2, dtype=torch.int64)) for _ in range(2)]
        self.args = dict(
            counts=self.counts.address, totals=self.totals.address, rows=rows, size=size,
            parts=parts, part=part, descending=int(descending),
        )

    def sort(self, first, count):
        out = self.out(count)
        for shift in range(0, self.bits, 8):
            args = Radix(shift=shift, first=first, count=count, **self.args)
            source, target = (shift // 8 + 1) % 2, shift // 8 % 2
            args.input = self.x.address if shift == 0 else 0
            args.from_keys, args.from_places = self.keys[source].address, self.places[source].address
            args.to_keys, args.to_places = self.keys[target].address, self.places[target].address
            args.out = out.address if shift == self.bits - 8 else 0
            self.count(args)
            self.scatter(args)
        return out.read()

    def select(self, first, count):
        """The places of the first elements, or of one in the sorted order."""
        args = Radix(input=self.x.address, first=first, count=count, **self.args)
        for shift in reversed(range(0, self.bits, 8)):
            args.shift, args.known = shift, 2**self.bits - 2 ** (shift + 8)
            self.swap_selected(args, shift // 8)
            self.count(args)
        out = self.out(count)
        args.out, args.classes, args.shift, args.known = out.address, 1, 0, 2**self.bits - 1
        self.swap_selected(args, 1)
        self.count(args)
        args.from_selected = args.to_selected
        self.scatter(args)
        return out.read()

    def swap_selected(self, args, turn):
        args.from_selected = self.selected[turn % 2].address
        args.to_selected = self.selected[(turn + 1) % 2].address

    def out(self, count):
        return self.driver.memory(torch.full((self.x.tensor.shape[0], count), -1, dtype=torch.int64))

    def count(self, args):
        args.jobs = args.rows * args.parts
        self.driver.launch(f"radix_count_{self.dtype}", args, block=(256, 1, 1))
        args.jobs = args.rows * DIGITS // 8
        self.driver.launch("radix_scan_i32", args, block=(256, 1, 1))

    def scatter(self, args):
        args.jobs = args.rows * args.parts
        self.driver.launch(f"radix_scatter_{self.dtype}", args, block=(256, 1, 1))
