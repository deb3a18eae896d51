"""The table of result dtypes: every pair of dtypes, in every pair of categories."""

import torch

from cases import DTYPES, NAMES

SCALARS = {"f64": 1.5, "i64": 1, "bool": True}


def operand(kind, name):
    """A tensor with dimensions, a 0-dimensional one, or a number of this dtype."""
    if kind == "scalar":
        return SCALARS[name]
    return torch.ones((1,) if kind == "dimensioned" else (), dtype=DTYPES[name])


def table():
    """[kind, dtype, kind, dtype, result] for each pair of operands with a tensor among them."""
    operands = [(kind, name) for kind in ("dimensioned", "zero_dim") for name in DTYPES]
    operands += [("scalar", name) for name in SCALARS]
    for default in (torch.float32, torch.float64):
        torch.set_default_dtype(default)
        for left in operands:
            for right in operands:
                if left[0] == right[0] == "scalar":
                    continue
                result = torch.result_type(operand(*left), operand(*right))
                yield {"default": NAMES[default], "operands": [left, right], "result": NAMES[result]}
    torch.set_default_dtype(torch.float32)
