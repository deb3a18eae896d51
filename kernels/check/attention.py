"""Attention, and its gradients, beside PyTorch's operations one by one."""

import itertools
import math

import torch

from abi import Attention
from values import DTYPES, sample, widen

FLOATS = ["f16", "bf16", "f32", "f64"]
TOLERANCE = {"f16": 4e-3, "bf16": 3e-2, "f32": 1e-5, "f64": 1e-12}
# Batches, heads, heads of keys, queries, keys, elements of a query, elements of a value.
SIZES = [(2, 4, 2, 5, 9, 8, 3), (1, 2, 2, 70, 130, 24, 72), (1, 1, 1, 65, 33, 7, 64)]
MASKS = ["none", "causal", "seen", "added"]
# For tensor cores also whether rows are multiples of 16 bytes, as copies want them.
HALF_SIZES = [
    ((2, 4, 2, 5, 9, 8, 3), False), ((1, 2, 1, 70, 140, 40, 64), True), ((1, 1, 1, 150, 131, 64, 64), True),
    ((1, 2, 2, 67, 70, 72, 16), True), ((1, 1, 1, 129, 65, 128, 128), True), ((1, 1, 1, 33, 100, 100, 128), False),
]


class Kernels:
    """The entries for a dtype: those of any size, or those on tensor cores, for up to 64 or 128 elements."""

    def __init__(self, dtype, width=None):
        self.width = width
        self.infix = "" if width is None else "halves_"
        self.suffix = dtype if width is None else f"{width}_{dtype}"
        self.block = (16, 16, 1) if width is None else (128, 1, 1)
        self.side = 32 if dtype == "f64" else 64

    def launch(self, driver, kind, args, heads, positions, columns):
        rows, across = self.side, 1
        if self.width is None:
            across = math.ceil(columns / self.side)
        elif (kind, self.width) == ("", 64):
            rows = 128
        args.jobs = heads * math.ceil(positions / rows) * across
        driver.launch(f"attention_{self.infix}{kind}{self.suffix}", args, grid=(3, 1, 1), block=self.block)


def check(driver):
    for dtype, sizes, mask, keep in itertools.product(FLOATS, SIZES, MASKS, [1.0, 0.6]):
        yield from attention(driver, Kernels(dtype), dtype, sizes, mask, keep, 2)
    for dtype, (sizes, aligned), mask, keep in itertools.product(FLOATS[:2], HALF_SIZES, MASKS, [1.0, 0.6]):
        kernels = Kernels(dtype, 64 if max(sizes[5:]) <= 64 else 128)
        yield from attention(driver, kernels, dtype, sizes, mask, keep, 8 if aligned else 2)


def rows(shape, dtype, before):
    """Rows side by side in an array of which they are a part, as [batch, head, position, element]."""
    batch, heads, positions, elements = shape
    width = elements + before + -(elements + before) % 8 if before == 8 else elements + before + 1
    whole = sample(DTYPES[dtype], (batch, positions, heads, width), special=False) / 3
    return whole[..., before:before + elements].transpose(1, 2)


def distance(ours, expected):
    """The largest difference, in parts of the largest number."""
    largest = expected.abs().max().clamp(min=1)
    return ((ours.to(expected.dtype) - expected).abs().max() / largest).item()


def attention(driver, kernels, dtype, sizes, kind, keep, before):
    batch, heads, kv_heads, queries, keys, depth, columns = sizes
    q = rows((batch, heads, queries, depth), dtype, before)
    k = rows((batch, kv_heads, keys, depth), dtype, before)
    v = rows((batch, kv_heads, keys, columns), dtype, before)
    grad = rows((batch, heads, queries, columns), dtype, before)
    wide = widen(q).dtype
    args = Attention(batch=batch, heads=heads, kv_heads=kv_heads, queries=queries, keys=keys, depth=depth,
                     columns=columns, scale=1 / math.sqrt(depth), keep=keep, seed=5, offset=3)
    mask = torch.zeros(queries, keys, dtype=wide)
    if kind == "causal":
        args.causal = 1
        mask.masked_fill_(torch.ones(queries, keys).triu(1).bool(), -math.inf)
    elif kind != "none":
        mask = torch.randn(queries, keys).to(wide)
        mask[torch.rand(queries, keys) < 0.3] = -math.inf
        # A query that sees nothing.
        mask[1] = -math.inf
        given = mask
        if kind == "seen":
            given = mask.isfinite()
            mask = torch.where(given, 0, mask)
        args.mask_kind = 1 if kind == "seen" else 2
        args.mask_strides[2], args.mask_strides[3] = keys, 1
        there = driver.memory(given)
        args.mask = there.address
    leaves = [widen(x).clone().requires_grad_(True) for x in (q, k, v)]
    wide_q, wide_k, wide_v = leaves
    of_head = lambda x: x.repeat_interleave(heads // kv_heads, 1)
    # A softmax of a row that sees nothing has no gradients, so it does not see one.
    blind = mask.isneginf().all(-1, True)
    scores = wide_q @ of_head(wide_k).mT * args.scale + torch.where(blind, 0, mask)
    shares = torch.where(blind, 0, scores.softmax(-1))
    if keep < 1:
        # With values that are unit vectors, the result is the shares. All kernels drop the same ones.
        unit = torch.eye(keys, dtype=DTYPES[dtype]).expand(batch, kv_heads, keys, keys)
        dropped, _ = forward(driver, Kernels(dtype), dtype, args, q, k, unit.contiguous())
        factors = (widen(dropped) != 0).to(wide) / keep
        missing = ((factors == 0) & (shares > 1e-4)).sum() / (shares > 1e-4).sum()
        label = f"attention_{kernels.infix}{kernels.suffix} {sizes} {kind} drops {missing:.2f}"
        yield label, None if queries < 10 or abs(missing - 1 + keep) < 0.05 else "too many or few"
        shares = shares * factors
    expected = shares @ of_head(wide_v)
    out, log_sum = forward(driver, kernels, dtype, args, q, k, v)
    tolerance = TOLERANCE[dtype]
    label = f"attention_{kernels.infix}{kernels.suffix} {sizes} {kind} {keep}"
    far = distance(out, expected.detach())
    yield label, None if far <= tolerance else f"differs by {far}"
    gradients = torch.autograd.grad(expected, leaves, widen(grad))
    ours = backward(driver, kernels, dtype, args, (q, k, v, grad), out, log_sum)
    for name, own, gradient in zip("qkv", ours, gradients):
        far = distance(own, gradient)
        yield f"{label}, gradient of {name}", None if far <= 8 * tolerance else f"differs by {far}"


def by_position(shape, dtype):
    """[batch, head, position, element] that lie by position, as results do."""
    batch, heads, positions, elements = shape
    return torch.zeros(batch, positions, heads, elements, dtype=DTYPES[dtype])


def place(args, driver, **tensors):
    """Puts tensors on the device, and their addresses and strides into the arguments."""
    memories = {}
    for name, tensor in tensors.items():
        memories[name] = driver.memory(tensor)
        setattr(args, name, memories[name].address)
        if hasattr(args, f"{name}_strides"):
            setattr(args, f"{name}_strides", (type(args.q_strides))(*tensor.stride()[:3]))
    return memories


def forward(driver, kernels, dtype, args, q, k, v):
    batch, heads, queries, _ = q.shape
    args.columns = v.shape[-1]
    out = by_position((batch, heads, queries, args.columns), dtype)
    log_sum = torch.zeros(batch, heads, queries, dtype=widen(q).dtype)
    memories = place(args, driver, q=q, k=k, v=v, out=out, log_sum=log_sum)
    kernels.launch(driver, "", args, batch * heads, queries, args.columns)
    return memories["out"].read().transpose(1, 2), memories["log_sum"].read()


def backward(driver, kernels, dtype, args, operands, out, log_sum):
    q, k, v, grad = operands
    names = zip(("dq", "dk", "dv"), (q, k, v))
    results = {name: by_position(x.shape, dtype) for name, x in names}
    memories = place(args, driver, q=q, k=k, v=v, grad=grad, out=out.transpose(1, 2).contiguous(),
                     log_sum=log_sum, delta=torch.zeros_like(log_sum), **results)
    kernels.launch(driver, "backward_queries_", args, q[..., 0, 0].numel(), q.shape[2], q.shape[3])
    columns = max(q.shape[3], v.shape[3])
    kernels.launch(driver, "backward_keys_", args, k[..., 0, 0].numel(), k.shape[2], columns)
    return [memories[name].read().transpose(1, 2) for name in results]
