"""The kernels of convolutions: each of the three tensors from the two others."""

import itertools
import math

import torch

from abi import Axes, Convolution
from values import DTYPES, HALVES, sample

FLOATS = ["f16", "bf16", "f32", "f64"]
# Batch, groups, channels of input and output in a group; input, kernel, stride, padding, dilation.
SIZES = [
    (2, 1, 3, 5, (1, 7, 9), (1, 3, 2), (1, 1, 1), (0, 1, 0), (1, 1, 1)),
    (2, 3, 2, 1, (4, 6, 5), (2, 3, 3), (2, 3, 2), (1, 2, 0), (1, 1, 2)),
    (1, 5, 1, 1, (1, 20, 31), (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1)),
    (1, 1, 9, 4, (1, 12, 13), (1, 3, 3), (1, 4, 2), (0, 1, 1), (1, 2, 3)),
    (2, 1, 2, 3, (1, 1, 5), (1, 1, 2), (1, 1, 7), (0, 0, 0), (1, 1, 1)),
    (1, 1, 66, 65, (1, 6, 5), (1, 3, 2), (1, 2, 1), (0, 1, 0), (1, 1, 1)),
]
# The same for tensor cores: a few channels more than a step has, whole tiles and parts of them, one to
# three dimensions, a kernel of one position, and one of more positions than a block has threads.
SIZES_OF_HALVES = [
    (2, 1, 72, 40, (1, 9, 10), (1, 3, 3), (1, 1, 1), (0, 1, 1), (1, 1, 1)),
    (2, 2, 17, 19, (3, 6, 5), (2, 3, 3), (2, 3, 2), (1, 2, 0), (1, 1, 2)),
    (3, 1, 32, 16, (1, 1, 37), (1, 1, 5), (1, 1, 2), (0, 0, 2), (1, 1, 1)),
    (1, 1, 64, 130, (1, 8, 8), (1, 1, 1), (1, 1, 1), (0, 0, 0), (1, 1, 1)),
    (2, 1, 24, 16, (1, 12, 13), (1, 3, 3), (1, 4, 2), (0, 1, 1), (1, 2, 3)),
    (1, 1, 66, 18, (1, 13, 14), (1, 12, 11), (1, 1, 1), (0, 1, 1), (1, 1, 1)),
]
# Kernels of a pass, with their tiles.
OF_PLACES = {"": (16, 16), "_large": (64, 64), "_few": (4, 256), "_thin": (16, 256)}
OF_WEIGHT = {"": (16, 16), "_large": (64, 64), "_few": (1, 9)}
OF_HALVES = {"_halves": (64, 64), "_halves_large": (128, 64)}
WEIGHT_OF_HALVES = {"_halves": (64, 64)}


def check(driver):
    yield from check_kernels(driver, FLOATS, SIZES, OF_PLACES, OF_WEIGHT)
    yield from check_kernels(driver, ["f16", "bf16"], SIZES_OF_HALVES, OF_HALVES, WEIGHT_OF_HALVES)


def check_kernels(driver, dtypes, all_sizes, of_places, of_weight):
    for dtype, sizes in itertools.product(dtypes, all_sizes):
        batch, groups, inner, outer, input, kernel, stride, padding, dilation = sizes
        x = sample(DTYPES[dtype], (batch, groups * inner, *input), special=False)
        weight = sample(DTYPES[dtype], (groups * outer, inner, *kernel), special=False)
        operands = [tensor.double().requires_grad_() for tensor in (x, weight)]
        y = torch.nn.functional.conv3d(*operands, None, stride, padding, dilation, groups)
        grad = sample(DTYPES[dtype], y.shape, special=False)
        y.backward(grad.double())
        args = Convolution(
            batch=batch, groups=groups, in_channels=inner, out_channels=outer,
            input=Axes(*input), kernel=Axes(*kernel), output=Axes(*y.shape[2:]),
            stride=Axes(*stride), padding=Axes(*padding), dilation=Axes(*dilation),
            tap_step=Axes(*[s // math.gcd(s, d) for s, d in zip(stride, dilation)]),
        )
        for name, tile in of_places.items():
            bias = sample(DTYPES[dtype], (groups * outer,), special=False)
            expected = y.detach() + bias.double().reshape(-1, 1, 1, 1)
            # Tensor cores sum outputs of few tiles in parts, too.
            for parts in [1, 2] if name == "_halves" else [1]:
                tensors = (x, weight, expected, bias)
                yield run(driver, f"conv_output{name}", dtype, args, tile, tensors, parts)
            bias = sample(DTYPES[dtype], (groups * inner,), special=False)
            expected = operands[0].grad + bias.double().reshape(-1, 1, 1, 1)
            yield run(driver, f"conv_input{name}", dtype, args, tile, (expected, weight, grad, bias))
        for (name, tile), parts in itertools.product(of_weight.items(), [1, 3]):
            expected = operands[1].grad
            yield run(driver, f"conv_weight{name}", dtype, args, tile, (x, expected, grad), parts)


def channels_last(weight, groups, place):
    """A weight as kernels for tensor cores have it: rows, positions, and the channels that are summed."""
    by_group = weight.reshape(groups, -1, weight.shape[1], weight[0, 0].numel())
    order = (0, 2, 3, 1) if place == 0 else (0, 1, 3, 2)
    return by_group.permute(order).contiguous()


def run(driver, name, dtype, args, tile, tensors, parts=1):
    """Computes the one of input, weight and output that is in doubles to be compared with."""
    place = [at for at in range(3) if name.startswith(("conv_input", "conv_weight", "conv_output")[at])][0]
    is_on_tensor_cores = "_halves" in name
    if is_on_tensor_cores:
        # The channels of weights lie side by side there.
        x, weight, *others = tensors
        tensors = (x, channels_last(weight, args.groups, place), *others)
    expected, kind = tensors[place], DTYPES[dtype]
    halves = kind in HALVES
    shape = (parts, *expected.shape) if parts > 1 else expected.shape
    result = torch.zeros(shape, dtype=torch.float32 if halves and parts > 1 else kind)
    there = [driver.memory(result if at == place else tensor) for at, tensor in enumerate(tensors)]
    args.x, args.weight, args.y = [memory.address for memory in there[:3]]
    args.bias = there[3].address if len(there) > 3 else 0
    batch, kernel = args.batch, math.prod(args.kernel)
    outer, inner = args.out_channels, args.in_channels
    args.parts = parts
    if place == 0:
        phases = [min(size, step) for size, step in zip(args.input, args.stride)]
        first = [-(-size // step) for size, step in zip(args.input, args.stride)]
        args.parts, args.rows, args.columns = math.prod(phases), inner, batch * math.prod(first)
    elif place == 1:
        args.rows, args.columns = outer, inner * kernel
    else:
        args.rows, args.columns = outer, batch * math.prod(args.output)
    args.tile_rows, args.tile_columns = tile
    block = (16, 16, 1) if tile[0] == tile[1] else (256, 1, 1)
    block = (128, 1, 1) if is_on_tensor_cores else block
    args.threads = math.prod(block)
    # Fewer blocks than tiles, so that the loops are tested, too.
    driver.launch(f"{name}_{dtype}", args, grid=(2, 1, 3), block=block)
    found = there[place].read()
    found = found.double().sum(0) if parts > 1 else found
    label = f"{name}_{dtype} {parts} of {tuple(expected.shape)}"
    # Halves are rounded once.
    eps = torch.finfo(kind).eps if halves and parts == 1 else 0
    bound = 1e-13 if kind == torch.float64 else 1e-5
    if is_on_tensor_cores and parts > 1:
        # Those of a GPU cut off in each sum what others round.
        bound = 3e-5
    allowed = eps * expected.abs() + bound * expected.abs().max()
    excess = ((found.double() - expected).abs() - allowed).max().item()
    return label, None if excess <= 0 else f"off by {excess} more than allowed"
