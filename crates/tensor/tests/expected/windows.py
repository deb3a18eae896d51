"""Windows and samples of images: pooling, padding, interpolation, blocks, with gradients of both orders."""

import torch
import torch.nn.functional as F

from gradients import F64, Gradients

F32 = torch.float32
MODES = {3: ["nearest", "nearest-exact", "linear", "area"],
         4: ["nearest", "nearest-exact", "bilinear", "bicubic", "area"],
         5: ["nearest", "nearest-exact", "trilinear", "area"]}
SHAPES = {1: (2, 1, 9), 2: (1, 2, 4, 5), 3: (1, 1, 3, 4, 5)}


def windows():
    """All of them."""
    make = Gradients(26)
    yield from pools(make)
    yield from pads(make)
    yield from interpolations(make)
    yield from others(make)


def pools(make):
    """Windows of every kind, along one to three axes."""
    for axes, shape in SHAPES.items():
        largest, average = getattr(F, f"max_pool{axes}d"), getattr(F, f"avg_pool{axes}d")
        for kernel, stride, padding, dilation, ceil in (
            (2, 2, 0, 1, False), (3, 1, 1, 1, False), (3, 2, 1, 1, True), (2, 3, 1, 2, True),
        ):
            args = dict(kernel_size=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil)
            x = make.uniform(shape)
            yield make.case(f"max_pool{axes}d", [x], lambda a: largest(a, **args), **args)
            del args["dilation"]
            for included, divisor in ((True, None), (False, None), (True, 3)):
                more = {} if axes == 1 else {"divisor_override": divisor}
                run = lambda a: average(a, **args, count_include_pad=included, **more)
                if axes > 1 or divisor is None:
                    x = make.uniform(shape, dtype=F64)
                    yield make.case(f"avg_pool{axes}d", [x], run, **args, count_include_pad=included, divisor=divisor)
        adaptive = {"max": getattr(F, f"adaptive_max_pool{axes}d"), "avg": getattr(F, f"adaptive_avg_pool{axes}d")}
        for name, function in adaptive.items():
            for size in (1, 3, 7):
                x = make.uniform(shape, dtype=F64)
                yield make.case(f"adaptive_{name}_pool{axes}d", [x], lambda a: function(a, size), size=size)
        x = make.uniform(shape[1:], dtype=F64)
        values, places = largest(x, 2, return_indices=True)
        unpool = getattr(F, f"max_unpool{axes}d")
        yield make.case(f"max_unpool{axes}d", [values, places], lambda a, at: unpool(a, at, 2, output_size=shape[2:]), size=list(shape[2:]))
    # Wide rows, which are folded some windows at a time.
    for stride in (1, 2, 3):
        x = make.uniform((1, 2, 61), dtype=F32)
        args = dict(kernel_size=3, stride=stride, padding=1, dilation=1, ceil_mode=False)
        yield make.case("max_pool1d", [x], lambda a: F.max_pool1d(a, **args), **args)


def pads(make):
    """Every mode, with sides that are left out."""
    for mode, shape, pad in (
        ("constant", (2, 3), (1, 2)), ("constant", (2, 3), (-1, 0, 2, -1)), ("constant", (), ()),
        ("reflect", (2, 4), (3, 1)), ("reflect", (1, 2, 3, 4), (2, 3, -1, 2)), ("reflect", (1, 2, 3, 2, 3), (1, 2, 1, 1, 0, 2)),
        ("replicate", (2, 4), (5, -2)), ("replicate", (2, 2, 3, 4), (1, 6, -1, 2)), ("replicate", (2, 2, 2, 3), (1, 2, 1, 1, 0, 2)),
        ("circular", (2, 2, 4), (4, 3)), ("circular", (1, 2, 3, 4), (2, -1, 3, 1)), ("circular", (2, 2, 2, 3), (1, 2, 1, 1, 0, 2)),
    ):
        x = make.uniform(shape, dtype=F64)
        more = {"value": 1.5} if mode == "constant" else {}
        yield make.case("pad", [x], lambda a: F.pad(a, pad, mode, **more), pad=list(pad), mode=mode)


def interpolations(make):
    """To larger and smaller sizes, by sizes and by factors, with corners aligned and not."""
    for dims, modes in MODES.items():
        shape = (1, 1, 4, 3, 2)[:dims]
        for mode in modes:
            linear = mode.endswith("linear") or mode == "bicubic"
            for corners in (False, True) if linear else (None,):
                for size in (1, 5):
                    args = dict(size=size, mode=mode, align_corners=corners)
                    x = make.uniform(shape, dtype=F64)
                    yield make.case("interpolate", [x], lambda a: F.interpolate(a, **args), **args)
                for factor in (1.7, 0.6):
                    args = dict(scale_factor=factor, mode=mode, align_corners=corners)
                    x = make.uniform(shape, dtype=F64)
                    yield make.case("interpolate", [x], lambda a: F.interpolate(a, **args), **args)


def others(make):
    """Blocks as columns, pixels and channels in another order, response normalisation."""
    x = make.uniform((2, 2, 5, 6), dtype=F64)
    for args in (dict(kernel_size=2), dict(kernel_size=(3, 2), dilation=2, padding=(2, 1), stride=(1, 2))):
        given = {name: list(value) if isinstance(value, tuple) else [value] * 2 for name, value in args.items()}
        yield make.case("im2col", [x], lambda a: F.unfold(a, **args), **given)
        columns = make.uniform(F.unfold(x, **args).shape, dtype=F64)
        yield make.case("col2im", [columns], lambda a: F.fold(a, (5, 6), **args), **given)
    yield make.case("pixel_shuffle", [make.uniform((2, 8, 2, 3), dtype=F64)], lambda a: F.pixel_shuffle(a, 2), factor=2)
    yield make.case("pixel_unshuffle", [make.uniform((2, 4, 6), dtype=F64)], lambda a: F.pixel_unshuffle(a, 2), factor=2)
    yield make.case("channel_shuffle", [make.uniform((2, 6, 3), dtype=F64)], lambda a: F.channel_shuffle(a, 3), factor=3)
    for size in (1, 2, 3):
        run = lambda a: F.local_response_norm(a, size, alpha=0.5, beta=0.75, k=2.0)
        yield make.case("local_response_norm", [make.uniform((2, 4, 3), dtype=F64)], run, size=size, k=2.0)
    theta = make.uniform((2, 2, 3), dtype=F64)
    for corners in (False, True):
        run = lambda a: F.affine_grid(a, [2, 1, 2, 3], align_corners=corners)
        yield make.case("affine_grid", [theta], run, align_corners=corners)


def samples():
    """`grid_sample`, whose gradient PyTorch does not differentiate again."""
    from cases import case
    make = Gradients(27)
    for dims in (2, 3):
        x = make.uniform((2, 1, 3, 4, 2)[: dims + 2], dtype=F64)
        grid = make.uniform((2, *(2, 2, 1)[:dims], dims), -1.6, 1.6, dtype=F64)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                for corners in (False, True):
                    leaves = [x.clone().requires_grad_(), grid.clone().requires_grad_()]
                    output = F.grid_sample(*leaves, mode, padding, corners)
                    gradient = make.uniform(output.shape, dtype=F64)
                    gradients = torch.autograd.grad(output, leaves, gradient)
                    args = dict(mode=mode, padding=padding, align_corners=corners)
                    yield case("grid_sample", [x, grid], args, output=output, gradient=gradient, gradients=gradients)


def powers():
    """Norms of windows, along one to three axes, functions with their operands exchanged, cross products."""
    make = Gradients(29)
    for axes, shape in SHAPES.items():
        pool = getattr(F, f"lp_pool{axes}d")
        for norm, kernel, stride, ceil in ((2.0, 2, None, False), (1.5, 3, 2, True), (3.0, 2, 1, False)):
            x = make.uniform(shape, 0.2, 2, dtype=F64)
            args = dict(norm_type=norm, kernel_size=kernel, stride=stride, ceil_mode=ceil)
            yield make.case(f"lp_pool{axes}d", [x], lambda a: pool(a, **args), **args)
    for base in (2.0, 0.5):
        x = make.uniform((2, 3), -2, 2)
        yield make.case("rpow", [x], lambda a: base**a, base=base)
        yield make.case("rremainder", [x], lambda a: torch.remainder(torch.tensor(base), a), base=base)
    a, b = make.uniform((2, 3, 2)), make.uniform((1, 3, 2))
    yield make.case("cross", [a, b], lambda a, b: torch.linalg.cross(a, b, dim=1), dim=1)


def fractions():
    """The largest of windows at random distances, with the random numbers given, interpolated bytes, and
    distances between rows by both ways."""
    from cases import case
    make = Gradients(30)
    for axes, shape, kernel, size in ((2, (2, 3, 7, 6), (2, 3), (4, 3)), (3, (1, 2, 5, 6, 7), (2, 2, 3), (3, 4, 2)), (2, (1, 5, 5), (1, 1), (1, 5))):
        for dtype in (torch.float32, F64):
            x = make.uniform(shape, dtype=dtype)
            samples = make.uniform((shape[0] if len(shape) > axes + 1 else 1, shape[-axes - 1], axes), 0, 1, dtype)
            pool = getattr(F, f"fractional_max_pool{axes}d")
            leaf = x.clone().requires_grad_()
            output = pool(leaf, kernel, output_size=size, _random_samples=samples)
            gradient = make.uniform(output.shape, dtype=dtype)
            gradients = torch.autograd.grad(output, [leaf], gradient)
            args = dict(kernel_size=list(kernel), output_size=list(size))
            yield case(f"fractional_max_pool{axes}d", [x, samples], args, output=output,
                       gradient=gradient, gradients=[*gradients, None])
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            for size in ([3, 3], [5, 7], [9, 2]):
                x = (make.uniform((1, 2, 5, 6), 0, 255)).to(torch.uint8)
                args = dict(size=size, mode=mode, align_corners=corners)
                yield case("interpolate", [x], args, output=F.interpolate(x, **args))
    for mode in ("bilinear", "bicubic"):
        for corners in (False, True):
            for size in ([2, 3], [7, 9]):
                args = dict(size=size, mode=mode, align_corners=corners, antialias=True)
                x = make.uniform((1, 2, 5, 8), 0, 255, dtype=F64)
                bytes = x.to(torch.uint8)
                yield case("interpolate", [bytes], args, output=F.interpolate(bytes, **args))
                x.requires_grad_()
                output = F.interpolate(x, **args)
                gradient = make.uniform(output.shape, dtype=F64)
                gradients = torch.autograd.grad(output, [x], gradient)
                yield case("interpolate", [x], args, output=output, gradient=gradient, gradients=gradients)
    for mode in ("use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"):
        for p in (1.0, 2.0):
            leaves = [make.uniform((2, 3, 4), dtype=F64), make.uniform((2, 5, 4), dtype=F64)]
            leaves = [leaf.requires_grad_() for leaf in leaves]
            output = torch.cdist(*leaves, p, mode)
            gradient = make.uniform(output.shape, dtype=F64)
            gradients = torch.autograd.grad(output, leaves, gradient)
            yield case("cdist", leaves, dict(p=p, mode=mode), output=output, gradient=gradient, gradients=gradients)
