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


def check(driver):
    for dtype, sizes, mask, keep in itertools.product(FLOATS, SIZES, MASKS, [1.0, 0.6]):
        yield from attention(driver, dtype, sizes, mask, keep)


def rows(shape, dtype):
    """Rows side by side in an array of which they are a part, as [batch, head, position, element]."""
    batch, heads, positions, elements = shape
    whole = sample(DTYPES[dtype], (batch, positions, heads, elements + 3), special=False) / 3
    return whole[..., 2:2 + elements].transpose(1, 2)


def distance(ours, expected):
    """The largest difference, in parts of the largest number."""
    largest = expected.abs().max().clamp(min=1)
    return ((ours.to(expected.dtype) - expected).abs().max() / largest).item()


def attention(driver, dtype, sizes, kind, keep):
    batch, heads, kv_heads, queries, keys, depth, columns = sizes
    q = rows((batch, heads, queries, depth), dtype)
    k = rows((batch, kv_heads, keys, depth), dtype)
    v = rows((batch, kv_heads, keys, columns), dtype)
    grad = rows((batch, heads, queries, columns), dtype)
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
        # With values that are unit vectors, the result is the shares.
        unit = torch.eye(keys, dtype=DTYPES[dtype]).expand(batch, kv_heads, keys, keys)
        dropped, _ = forward(driver, dtype, args, q, k, unit.contiguous())
        factors = (widen(dropped) != 0).to(wide) / keep
        missing = ((factors == 0) & (shares > 1e-4)).sum() / (shares > 1e-4).sum()
        label = f"attention_{dtype} {sizes} {kind} drops {missing:.2f}"
        yield label, None if queries < 10 or abs(missing - 1 + keep) < 0.05 else "too many or few"
        shares = shares * factors
    expected = shares @ of_head(wide_v)
    out, log_sum = forward(driver, dtype, args, q, k, v)
    tolerance = TOLERANCE[dtype]
    label = f"attention_{dtype} {sizes} {kind} {keep}"
    far = distance(out, expected.detach())
    yield label, None if far <= tolerance else f"differs by {far}"
    gradients = torch.autograd.grad(expected, leaves, widen(grad))
    ours = backward(driver, dtype, args, (q, k, v, grad), out, log_sum)
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


def forward(driver, dtype, args, q, k, v):
    batch, heads, queries, _ = q.shape
    args.columns = v.shape[-1]
    out = by_position((batch, heads, queries, args.columns), dtype)
    log_sum = torch.zeros(batch, heads, queries, dtype=widen(q).dtype)
    memories = place(args, driver, q=q, k=k, v=v, out=out, log_sum=log_sum)
    launch(driver, f"attention_{dtype}", args, batch * heads, queries, args.columns)
    return memories["out"].read().transpose(1, 2), memories["log_sum"].read()


def backward(driver, dtype, args, operands, out, log_sum):
    q, k, v, grad = operands
    names = zip(("dq", "dk", "dv"), (q, k, v))
    results = {name: by_position(x.shape, dtype) for name, x in names}
    memories = place(args, driver, q=q, k=k, v=v, grad=grad, out=out.transpose(1, 2).contiguous(),
                     log_sum=log_sum, delta=torch.zeros_like(log_sum), **results)
    launch(driver, f"attention_backward_queries_{dtype}", args, q[..., 0, 0].numel(), q.shape[2], q.shape[3])
    columns = max(q.shape[3], v.shape[3])
    launch(driver, f"attention_backward_keys_{dtype}", args, k[..., 0, 0].numel(), k.shape[2], columns)
    return [memories[name].read().transpose(1, 2) for name in results]


def launch(driver, entry, args, heads, positions, columns):
    side = 32 if entry.endswith("f64") else 64
    args.jobs = heads * math.ceil(positions / side) * math.ceil(columns / side)
    driver.launch(entry, args, grid=(3, 1, 1), block=(16, 16, 1))
