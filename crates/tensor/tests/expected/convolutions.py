"""Convolutions and transposed convolutions of every geometry and dtype, with their gradients."""

import torch
import torch.nn.functional as F

from cases import Source, case
from gradients import Gradients

F16, F32, F64, BF16 = torch.float16, torch.float32, torch.float64, torch.bfloat16

# Sizes, channels in and out in a group, and options, for the dimensions' number.
FORWARD = [
    (1, (7,), 3, 2, (3,), {}),
    (1, (9,), 2, 3, (3,), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}),
    (1, (6,), 1, 2, (4,), {"padding": "same"}),
    (2, (5, 6), 2, 3, (3, 2), {}),
    (2, (5, 6), 2, 2, (3, 3), {"stride": [2, 1], "padding": [1, 2]}),
    (2, (7, 5), 1, 1, (3, 3), {"padding": 1, "groups": 4}),
    (2, (6, 7), 2, 1, (2, 3), {"stride": 3, "dilation": [1, 2], "groups": 2}),
    (2, (4, 4), 3, 2, (1, 1), {"stride": 2}),
    (2, (5, 4), 1, 2, (2, 3), {"padding": "same", "dilation": [1, 2]}),
    (2, (4, 3), 1, 2, (3, 2), {"padding": "valid"}),
    (3, (3, 4, 3), 2, 2, (2, 3, 2), {"padding": [1, 1, 0]}),
    (3, (4, 3, 5), 1, 2, (2, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
]
TRANSPOSED = [
    (1, (4,), 3, 2, (3,), {}),
    (1, (4,), 2, 1, (3,), {"stride": 3, "padding": 1, "output_padding": 2, "groups": 2}),
    (2, (3, 4), 2, 3, (3, 2), {}),
    (2, (3, 3), 2, 2, (3, 3), {"stride": [2, 1], "padding": [1, 0], "output_padding": [1, 0]}),
    (2, (3, 2), 1, 2, (2, 3), {"stride": 2, "dilation": [1, 2], "groups": 3}),
    (3, (2, 3, 2), 2, 1, (2, 2, 3), {"stride": 2, "padding": [0, 1, 1], "output_padding": 1}),
]


def shapes(transposed, sizes, inside, outside, kernel, options):
    """The shapes of the input and the weight, and the number of output channels."""
    groups = options.get("groups", 1)
    rows = inside * groups if transposed else outside * groups
    columns = outside if transposed else inside
    return (2, inside * groups, *sizes), (rows, columns, *kernel), outside * groups


def convolutions():
    """All of them with gradients."""
    make = Gradients(90)
    for transposed, table in ((False, FORWARD), (True, TRANSPOSED)):
        for dims, *sizes, options in table:
            name = f"conv{'_transpose' if transposed else ''}{dims}d"
            x_shape, weight_shape, channels = shapes(transposed, *sizes, options)
            for dtype in (F32, F64):
                x, weight = make.uniform(x_shape, dtype=dtype), make.uniform(weight_shape, dtype=dtype)
                bias = [make.uniform((channels,), dtype=dtype)] if dtype == F32 else []
                function = lambda *t: getattr(F, name)(*t, **options)
                yield make.case(name, [x, weight, *bias], function, **options)


def convolution_dtypes():
    """Other dtypes, an input without a batch, and a batch with nothing inside."""
    source = Source(91)
    for name, weight_shape in (("conv2d", (3, 2, 3, 2)), ("conv_transpose2d", (2, 3, 3, 2))):
        function = getattr(F, name)
        for dtype in (F16, BF16, F64, torch.int64):
            if dtype == BF16:
                x, weight = (source.integers(s, -9, 10).to(dtype) for s in ((1, 2, 4, 5), weight_shape))
            else:
                x, weight = source.any((1, 2, 4, 5), dtype), source.any(weight_shape, dtype)
            yield case(name, [x, weight], output=function(x, weight))
        for shape in ((2, 4, 5), (0, 2, 4, 5)):
            x, weight, bias = source.uniform(shape), source.uniform(weight_shape), source.uniform((3,))
            yield case(name, [x, weight, bias], output=function(x, weight, bias))
    for dtype in (torch.int32, torch.uint8):
        x, weight = source.integers((1, 2, 4, 5), 0, 5, dtype), source.integers((3, 2, 3, 2), 0, 5, dtype)
        yield case("conv2d", [x, weight], output=F.conv2d(x, weight))
