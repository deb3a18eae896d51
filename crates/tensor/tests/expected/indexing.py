"""Reads and writes by brackets: what PyTorch gives for every kind of index and their mixtures, or the
name of its exception; where the result is a view, its strides and offset; and gradients of floats.

The indexed tensor counts from 0 in row-major order, and the gradient of the result goes from -3 to 3.
"""

import torch

from cases import DTYPES, MORE_DTYPES, NAMES, tensor

ALL = {**DTYPES, **MORE_DTYPES}


def counted(shape, dtype):
    """0, 1, 2, .. in row-major order; every third truth value is true."""
    numbers = torch.arange(torch.Size(shape).numel()).reshape(shape)
    return numbers % 3 == 0 if dtype == torch.bool else numbers.to(dtype)


def slopes(shape, dtype):
    """The gradient of a result."""
    return (torch.arange(torch.Size(shape).numel()) % 7 - 3).reshape(shape).to(dtype)


def t(data, dtype=torch.int64):
    """A tensor of indices."""
    return torch.tensor(data, dtype=dtype)


def m(data, dtype=torch.bool):
    """A mask."""
    return torch.tensor(data, dtype=dtype)


def r(*shape):
    """Row numbers, several times each."""
    return (torch.arange(torch.Size(shape).numel()) * 2 % 3).reshape(shape)


def full(shape, dtype=torch.float32):
    """A value: 100, 101, .."""
    return (100 + torch.arange(torch.Size(shape).numel())).reshape(shape).to(dtype)


class Brackets:
    """Gives what stands between its brackets."""

    def __getitem__(self, indices):
        return indices if isinstance(indices, tuple) else (indices,)


NAMESPACE = {"t": t, "m": m, "r": r, "full": full, "torch": torch, "b": Brackets(), **{
    name: dtype for name, dtype in ALL.items() if name != "bool"
}}


def written(index):
    """An index as JSON."""
    if isinstance(index, slice):
        return {"slice": [index.start, index.stop, index.step]}
    if index is Ellipsis:
        return {"ellipsis": True}
    if isinstance(index, list):
        # Lists of lists are tensors in Rust.
        return tensor(t(index)) if any(isinstance(item, list) for item in index) else {"list": index}
    return tensor(index)


# A shape, and what stands between the brackets.
READS = [
    ((4,), ["0", "3", "-1", "-4", "4", "-5", "()", "...", ":", "None", "None, None", "0, 0", "True", "False"]),
    ((6,), ["1:3", "-3:-1", ":-1", "2:", "4:2", ":100", "-100:2", "::2", "1::2", "1:5:3", "::7", "-1:", "3:3"]),
    ((6,), ["[0, 2]", "[-1, -6]", "[6]", "[-7]", "[1, 1, 1]", "t([])", "t([[0, 1], [5, -1]])", "t(2)", "t(-1)"]),
    ((6,), ["t([0, 3], i32)", "t([1, 2], i16)", "t([0.0], f32)", "m([True, False] * 3)", "m([False] * 6)"]),
    ((6,), ["m([True, False])", "m(True)", "m(False)", "m([1, 0, 1, 0, 0, 1], u8)", "m([[True]])"]),
    ((2, 3), ["0", "0, 1", "-1, -1", "2", "0, 3", ":, 0", "..., 0", "0, ...", "..., 0, 1", "0, ..., 1", "..., :, :"]),
    ((2, 3), ["None", ":, None", "..., None", "None, 0", "0, None, 1", "None, :, None, :, None", "0, 0, 0", ":, :, :"]),
    ((2, 3), ["True", "False", "True, 0", "0, True", ":, False", "None, True", "True, True", "True, False"]),
    ((2, 3), ["[1, 0]", ":, [2, 0]", "[0, 1], [2, 2]", "[0, 1], [0, 1, 2]", "[[0], [1]], [2, 0]", "t([[0], [1]]), t([[0, 2]])"]),
    ((2, 3), ["0, [0, 2]", "[0, 1], 2", "1:, [0, 2]", "[1, 1], 1:", "[1], ::2", "..., [0]", "[0], ...", "None, [0]"]),
    ((2, 3), ["[0], None", "None, [0, 1], [1, 2]", "[0, 1], None, [1, 2]", "[2]", ":, [-4]", "[0, 1], [0, 5]", "t([]), 0"]),
    ((2, 3), ["m([True, False])", ":, m([True, False, True])", "m([True, True]), m([True, False, True])"]),
    ((2, 3), ["m([[True, False, True], [False, False, True]])", "m([[True, False], [True, False]])", "m([True, False]), 1"]),
    ((2, 3), ["m([[False] * 3] * 2)", "m([True, False]), [2]", "m([True, False, True])", "None, m([True, False])"]),
    ((2, 3, 4), ["0", "1, 2, 3", "-1, ..., -1", ":, 1", "..., 1:3", "1:, :2, ::3", "0, ..., None", "..., 1, :", "0, :, 1"]),
    ((2, 3, 4), ["[0, 1]", ":, [0, 2]", "..., [3, 0]", "[0, 1], :, [1, 3]", ":, [0, 1], [1, 3]", "[0, 1], [1, 2]"]),
    ((2, 3, 4), ["[0, 1], 1, [1, 3]", "0, :, [1, 3]", "0, [1, 2]", "0, [1, 2], [0, 3]", "[1], 0, :", "[0], ..., [1]"]),
    ((2, 3, 4), ["t(1), :, [0, 1]", "t([1]), :, [0, 1]", "[0, 1], 1:, [1, 3]", "r(2, 3), :, r(3)", ":, r(2, 2), :"]),
    ((2, 3, 4), ["r(2, 1) % 2, r(3), r(2, 3)", "[0, 1], None, [0, 2]", "[0, 1], None, None, :, [0, 2]", "..., None, [0, 2]"]),
    ((2, 3, 4), ["m([True, False])", ":, m([True, False, True])", "..., m([True, False, True, True])", "m([[True, False, True]] * 2)"]),
    ((2, 3, 4), [":, m([[True] * 4] * 3)", "m([[True, False, True]] * 2), [0]", "m([True, False]), :, [0, 2]", "0, m([True, False, True])"]),
    ((2, 3, 4), ["m([True, True]), m([True, False, True]), 1", "[0, 1], m([True, False, True])", "True, [0, 1]", "[0, 1], True"]),
    ((2, 0, 3), ["0", ":, :1", "[1]", ":, []", ":, [0]", ":, 0", "m([[], []])", "..., [0, 2]", "[0, 1], t([])"]),
    ((), ["()", "...", "None", "True", "False", "0", "m(True)", "m(False)", "None, [0]", "None, ...", "[0]", "True, None"]),
    ((1, 2, 1, 2, 1, 2, 1), ["0, 1, 0, 1, 0, 1, 0", "..., 1, 0", ":, [0, 1], :, [0, 1], 0, 1:, None", "0, ..., [0]", "[0], :, :, [1], ..., [1], 0"]),
]

# A shape, what stands between the brackets, and the value.
WRITES = [
    ((4,), [("0", "7"), ("-1", "2.5"), ("1:3", "full((2,))"), ("::2", "full((1,))"), ("4", "1"), ("...", "9"), ("()", "full(())")]),
    ((4,), [("1:", "full((2,))"), ("[0, 2]", "7"), ("[0, -1]", "full((2,))"), ("[4]", "1"), ("[-5]", "1"), ("[0, 2]", "full((3,))")]),
    ((4,), [("[1, 2]", "full((1,))"), ("[1, 2]", "full((1, 1, 2))"), ("t([])", "5"), ("t([])", "full((0,))"), ("t([])", "full((2,))")]),
    ((4,), [("m([True, False, True, False])", "5"), ("m([True, False, True, False])", "full((2,))"), ("m([False] * 4)", "full((0,))")]),
    ((4,), [("m([True, False, True, False])", "full(())"), ("m([True, False, True, False])", "full((3,))"), ("m([True])", "5")]),
    ((4,), [("True", "5"), ("False", "5"), ("None", "full((1, 4))"), ("0:0", "full((0,))"), ("0", "full((1,))"), ("t(1)", "6")]),
    ((4,), [("1:3", "full((2,), f64)"), ("1:3", "full((2,), i64)"), ("[1, 2]", "full((2,), f64)"), ("[1, 2]", "full((2,), i64)")]),
    ((4,), [("m([True, False, True, False])", "full((), i64)"), ("0", "full((), f64)"), ("[0]", "full((), i64)"), ("1:3", "full((3, 2))")]),
    ((2, 3), [("0", "full((3,))"), (":, 1", "full((2,))"), (":, 1:", "full((2, 1))"), ("..., -1", "7"), ("0, 2", "full((1, 1))")]),
    ((2, 3), [("0", "full((1, 1, 3))"), ("0", "full((2, 3))"), ("None, 0", "full((3,))"), (":, None, 1", "full((2, 1))"), ("2", "1")]),
    ((2, 3), [("[1]", "full((3,))"), (":, [0, 2]", "full((2, 2))"), (":, [0, 2]", "full((2,))"), (":, [0, 2]", "full((2, 1))")]),
    ((2, 3), [("[0, 1], [2, 0]", "full((2,))"), ("[0, 1], [2, 0]", "8"), ("[[0], [1]], [2, 0]", "full((2, 2))"), ("[0, 1], 1", "full((2,))")]),
    ((2, 3), [("0, [0, 2]", "full((2,))"), ("1:, [0, 2]", "full((1, 2))"), ("[1], 1:", "full((1, 2))"), ("[0, 2], 0", "1"), ("[0, 1], [0, 1, 2]", "1")]),
    ((2, 3), [("m([True, False])", "full((1, 3))"), ("m([True, False])", "full((3,))"), (":, m([True, False, True])", "full((2, 2))")]),
    ((2, 3), [(":, m([True, False, True])", "4"), ("m([[True, False, True], [False, True, False]])", "full((3,))"), ("m([True, False]), 1", "full(())")]),
    ((2, 3), [("m([[True, False, True], [False, True, False]])", "full((1,))"), ("m([True, False, True])", "1"), ("m([True, True]), [0, 2]", "full((2,))")]),
    ((2, 3, 4), [("0, :, 1", "full((3,))"), ("..., 1:3", "full((3, 1))"), ("[0, 1], :, [1, 3]", "full((2, 3))"), (":, [0, 1], [1, 3]", "full((2, 2))")]),
    ((2, 3, 4), [("[0, 1], :, [1, 3]", "full((3,))"), ("[0, 1], 1, [1, 3]", "full((2,))"), ("0, [1, 2], ::2", "full((2, 2))"), ("1, :, [[0], [2]]", "full((3, 2, 1))")]),
    ((2, 3, 4), [(":, m([True, False, True])", "full((2, 2, 4))"), (":, m([True, False, True])", "full((4,))"), ("m([[True, False, True]] * 2)", "full((4, 1))")]),
    ((2, 3, 4), [("..., None, [0, 2]", "full((2,))"), ("[0, 1], None, [0, 2]", "full((4,))"), ("m([True, False]), :, [0, 2]", "full((2, 3))"), ("r(2, 1) % 2, r(3)", "5")]),
    ((2, 0, 3), [("0", "1"), ("[1]", "full((3,))"), (":, []", "1"), ("..., [0, 2]", "full((0, 2))")]),
    ((), [("()", "5"), ("...", "full(())"), ("None", "full((1,))"), ("True", "4"), ("m(True)", "full(())"), ("m(False)", "1"), ("0", "1")]),
]

# A dtype, what stands between the brackets of four elements, and the value.
TYPED = [
    (name, indices, value)
    for name in ALL
    for indices, value in [("1:3", "3"), ("[0, 2]", "1"), ("[3, 1]", f"full((2,), torch.{str(ALL[name])[6:]})")]
] + [
    ("i64", "0", "2.7"), ("i64", "[0]", "2.7"), ("i32", "m([True, False, True, False])", "-2.7"), ("u8", "0", "300"),
    ("u8", "0", "-1"), ("u8", "[1]", "300"), ("i8", "1:", "-129"), ("f16", ":2", "1e9"), ("f16", "[0]", "1e9"), ("bool", "0", "3"),
    ("bool", "[1]", "0"), ("i64", "1:3", "full((2,), f32) + 0.7"), ("f16", "1:3", "full((2,), f64)"), ("bool", "1:3", "full((2,), f32)"),
    ("i64", "[0]", "full((1,), i32)"), ("i32", "m([True, False, True, False])", "full((), f64)"), ("i64", "0", "True"),
]


def indexing():
    """All of them."""
    for shape, texts in READS:
        for text in texts:
            yield read(shape, text)
    for shape, pairs in WRITES:
        for text, value in pairs:
            yield write(shape, torch.float32, text, value)
    for name, text, value in TYPED:
        yield write((4,), ALL[name], text, value)


def fields(op, shape, dtype, text, indices):
    """What every case has."""
    args = {"text": text, "dtype": NAMES[dtype], "shape": list(shape)}
    return {"op": op, "inputs": [], "args": args, "indices": [written(index) for index in indices]}


def read(shape, text):
    """A read by brackets."""
    x = counted(shape, torch.float32).requires_grad_(True)
    indices = eval(f"b[{text}]", NAMESPACE)
    result = fields("read", shape, torch.float32, text, indices)
    try:
        y = x[indices]
    except (IndexError, RuntimeError, ValueError) as error:
        return {**result, "error": type(error).__name__}
    y.backward(slopes(y.shape, y.dtype))
    result.update(output=tensor(y), gradients=[tensor(x.grad)])
    if y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr() and y.numel() > 0:
        result["view"] = {"strides": list(y.stride()), "offset": y.storage_offset()}
    return result


def write(shape, dtype, text, value):
    """A write by brackets."""
    indices, source = eval(f"b[{text}]", NAMESPACE), eval(value, NAMESPACE)
    result = fields("write", shape, dtype, f"{text} = {value}", indices)
    result["value"] = tensor(source)
    leaf, value = counted(shape, dtype), source
    leaves = [leaf]
    if isinstance(source, torch.Tensor):
        value = source.clone()
        leaves.append(value)
    if dtype.is_floating_point:
        leaves = [leaf.requires_grad_(True) for leaf in leaves if leaf.is_floating_point()]
    x = leaf.clone()
    try:
        x[indices] = value
    except (IndexError, RuntimeError, ValueError) as error:
        return {**result, "error": type(error).__name__}
    result["output"] = tensor(x)
    if dtype.is_floating_point:
        x.backward(slopes(shape, dtype))
        # A gradient that PyTorch does not compute is zero.
        grads = [torch.zeros(a.shape, dtype=a.dtype) if a.grad is None else a.grad for a in leaves]
        result["gradients"] = [tensor(grad) for grad in grads]
    return result
