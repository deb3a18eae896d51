"""The kernels of windows and samples of images: pooling and resampling, forward and backward."""

import itertools

import torch
import torch.nn.functional as F

from abi import Pool, Resample, ResampleAxis, WindowAxis
from values import DTYPES, disagreement, sample, widen

FLOATS = ["f16", "bf16", "f32", "f64"]
SHAPE = (3, 2, 5, 7)
# Kernel, stride, padding, dilation along each axis.
WINDOWS = [
    ((1, 2, 2), (1, 2, 2), (0, 0, 0), (1, 1, 1)), ((2, 3, 3), (1, 1, 2), (1, 1, 1), (1, 1, 1)),
    ((1, 2, 3), (1, 3, 1), (0, 1, 1), (1, 1, 2)),
]
RULES = {"nearest": 0, "trilinear": 1, "reflect": 3, "replicate": 4, "circular": 5}


def check(driver):
    yield from pools(driver)
    yield from averages(driver)
    yield from resamples(driver)


def ulps(dtype):
    return {"f16": 2, "bf16": 2, "f32": 100, "f64": 100}.get(dtype, 0)


def pool(driver, name, dtype, args, x, out, places=None):
    """Runs an entry, and gives what it wrote."""
    there, result = driver.memory(x), driver.memory(out)
    chosen = driver.memory(places) if places is not None else None
    args.input, args.out, args.count = there.address, result.address, out.numel()
    args.places = chosen.address if chosen else 0
    driver.launch(f"{name}_{dtype}", args)
    return result.read(), chosen.read() if chosen else None


def sliding(shape, outputs, windows):
    axes = zip(shape[1:], outputs, *windows)
    return Pool(axes=(WindowAxis * 3)(*[WindowAxis(*axis) for axis in axes]))


def adaptive(shape, outputs):
    axes = zip(shape[1:], outputs)
    return Pool(axes=(WindowAxis * 3)(*[WindowAxis(*axis) for axis in axes]))


def pools(driver):
    for dtype, windows in itertools.product([*FLOATS, "i64"], [*WINDOWS, (2, 3, 4)]):
        x = sample(DTYPES[dtype], SHAPE)
        wide = widen(x)[None].requires_grad_(x.is_floating_point())
        if len(windows) == 3 and dtype == "i64":
            continue
        if len(windows) == 3:
            values, at = F.adaptive_max_pool3d(wide, windows, True)
            args = adaptive(SHAPE, windows)
        else:
            values, at = F.max_pool3d(wide, *windows, return_indices=True)
            args = sliding(SHAPE, values.shape[2:], windows)
        expected = values[0].detach().to(x.dtype)
        out, places = pool(driver, "max_pool", dtype, args, x, torch.zeros_like(expected), torch.zeros_like(at[0]))
        label = f"max_pool_{dtype} {windows}"
        yield label, disagreement(out, expected, 0) or disagreement(places, at[0], 0)
        if dtype == "i64":
            continue
        grad = sample(DTYPES[dtype], expected.shape, special=False)
        values.backward(widen(grad)[None])
        of_x, _ = pool(driver, "max_pool_backward", dtype, args, grad, torch.zeros_like(x), at[0].contiguous())
        yield f"{label}, gradient", disagreement(of_x, wide.grad[0].to(x.dtype), ulps(dtype))


def averages(driver):
    cases = itertools.product([*FLOATS, "i64"], [*WINDOWS[:2], (2, 3, 4)], [0, 3], [0, 1])
    for dtype, windows, divisor, counts in cases:
        if dtype == "i64" and len(windows) == 3:
            continue
        # Sums of whole numbers are exact.
        x = torch.randint(-9, 10, SHAPE).to(DTYPES[dtype])
        wide = widen(x)[None].requires_grad_(x.is_floating_point())
        if len(windows) == 3:
            values, args = F.adaptive_avg_pool3d(wide, windows), adaptive(SHAPE, windows)
            divisor = 0
        else:
            kernel, stride, padding, _ = windows
            values = F.avg_pool3d(wide, kernel, stride, padding, False, bool(counts), divisor or None)
            args = sliding(SHAPE, values.shape[2:], windows)
        args.divisor, args.counts_padding = divisor, counts
        expected = values[0].detach().to(x.dtype)
        out, _ = pool(driver, "avg_pool", dtype, args, x, torch.zeros_like(expected))
        label = f"avg_pool_{dtype} {windows} by {divisor}, {counts}"
        yield label, disagreement(out, expected, ulps(dtype))
        if dtype == "i64":
            continue
        grad = torch.randint(1, 10, expected.shape).to(x.dtype)
        values.backward(widen(grad)[None])
        of_x, _ = pool(driver, "avg_pool_backward", dtype, args, grad, torch.zeros_like(x))
        yield f"{label}, gradient", disagreement(of_x, wide.grad[0].to(x.dtype), ulps(dtype))


def resamples(driver):
    dtypes = [*FLOATS, "i64"]
    for dtype, rule, larger in itertools.product(dtypes, [*RULES, "bicubic"], [False, True]):
        if dtype == "i64" and rule in ("trilinear", "bicubic"):
            continue
        # One plane in the depth for rules of two dimensions, whose axis is left as it is.
        shape = (3, 1, 5, 7) if rule == "bicubic" else SHAPE
        x = torch.randint(1, 10, shape).to(DTYPES[dtype])
        wide = widen(x)[None].requires_grad_(x.is_floating_point())
        axes = [ResampleAxis(size, size, 0, 1.0, RULES["replicate"], 0) for size in shape[1:]]
        if rule in ("reflect", "replicate", "circular"):
            before, after = (2, 1) if larger else (1, 0)
            values = F.pad(wide, (before, after, before, after, 0, 0), rule)
            for axis in axes[1:]:
                axis.before, axis.output, axis.rule = before, axis.input + before + after, RULES[rule]
        else:
            sizes = (4, 9, 12) if larger else (1, 2, 3)
            number = 2 if rule == "bicubic" else RULES[rule]
            for axis, size in list(zip(axes, sizes))[1 if rule == "bicubic" else 0:]:
                axis.output, axis.scale, axis.rule = size, axis.input / size, number
            # In f64, as places are computed.
            given = wide.double()
            if rule == "bicubic":
                values = F.interpolate(given[:, :, 0], sizes[1:], mode=rule).unsqueeze(2)
            else:
                values = F.interpolate(given, sizes, mode=rule)
        expected = values[0].detach().to(x.dtype)
        args = Resample(axes=(ResampleAxis * 3)(*axes), count=expected.numel())
        there, out = driver.memory(x), driver.memory(torch.zeros_like(expected))
        args.input, args.out = there.address, out.address
        driver.launch(f"resample_{dtype}", args)
        label = f"resample_{dtype} {rule} to {tuple(expected.shape)}"
        yield label, disagreement(out.read(), expected, 10 * ulps(dtype))
        if dtype == "i64":
            continue
        grad = torch.randint(1, 10, expected.shape).to(x.dtype)
        values.backward(grad.to(values.dtype)[None])
        there, out = driver.memory(grad), driver.memory(torch.zeros_like(x))
        args.input, args.out, args.count = there.address, out.address, x.numel()
        driver.launch(f"resample_backward_{dtype}", args)
        yield f"{label}, gradient", disagreement(out.read(), wide.grad[0].to(x.dtype), 10 * ulps(dtype))
