"""Inputs, and how close a result must come."""

import torch

DTYPES = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "bool": torch.bool,
}

HALVES = (torch.float16, torch.bfloat16)

INFINITY, NAN = float("inf"), float("nan")
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, INFINITY, -INFINITY, NAN, 1e-7, 3e4]


def sample(dtype, shape, special=True):
    """Random values, among them those where operations have rules of their own."""
    if dtype == torch.bool:
        return torch.rand(shape) < 0.5
    if dtype == torch.uint8:
        return torch.randint(0, 256, shape, dtype=dtype)
    if dtype in (torch.int32, torch.int16, torch.int8):
        return torch.randint(-128, 128, shape, dtype=dtype)
    if dtype == torch.int64:
        values = torch.randint(-9, 10, shape, dtype=dtype)
        return torch.where(torch.rand(shape) < 0.1, values * (2**60 + 12345), values)
    values = torch.randn(shape, dtype=torch.float64) * 3
    if special:
        chosen = torch.tensor(SPECIAL, dtype=torch.float64)[torch.randint(len(SPECIAL), shape)]
        values = torch.where(torch.rand(shape) < 0.3, chosen, values)
    return values.to(dtype)


def widen(tensor):
    """As the kernels see it: halves are floats until the result is stored."""
    return tensor.float() if tensor.dtype in HALVES else tensor


def disagreement(actual, expected, ulps):
    """What differs, in words; None if nothing does by more than `ulps` units in the last place."""
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype} {actual.shape} instead of {expected.dtype} {expected.shape}"
    if not actual.dtype.is_floating_point:
        wrong = actual != expected
    else:
        info = torch.finfo(actual.dtype)
        a, e = actual.double(), expected.double()
        # Below the least normal number, the last place has the size that it has there.
        distance = (a - e).abs() / (e.abs().clamp(min=info.tiny) * info.eps)
        same = (a == e) | (a.isnan() & e.isnan())
        wrong = ~same & ~(distance <= ulps)
    if not wrong.any():
        return None
    where = wrong.reshape(-1).nonzero()[0].item()
    got, want = actual.reshape(-1)[where].item(), expected.reshape(-1)[where].item()
    return f"{int(wrong.sum())} of {wrong.numel()} differ; element {where} is {got!r}, not {want!r}"
