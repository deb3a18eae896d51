"""How a case is written down: tensors as JSON, cases as lines of a file."""

import json
import math
import pathlib

import numpy
import torch

FOLDER = pathlib.Path(__file__).parent

DTYPES = {
    "f16": torch.float16,
    "f32": torch.float32,
    "f64": torch.float64,
    "i64": torch.int64,
    "u8": torch.uint8,
    "bool": torch.bool,
}
# Those that came later: the cases of the first six keep their random numbers.
MORE_DTYPES = {
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
}
NAMES = {dtype: name for name, dtype in {**DTYPES, **MORE_DTYPES}.items()}


def number(value, dtype):
    """A JSON value; the shortest decimal that reads back as the same number of this dtype."""
    if not dtype.is_floating_point:
        return value
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if dtype == torch.float64:
        return value
    narrow = numpy.float16 if dtype == torch.float16 else numpy.float32
    return float(str(narrow(value)))


def tensor(value):
    """A tensor as {dtype, shape, data}, row-major; anything else as it is."""
    if isinstance(value, (list, tuple)):
        return [tensor(item) for item in value]
    if not isinstance(value, torch.Tensor):
        return value
    value = value.detach()
    data = [number(item, value.dtype) for item in value.reshape(-1).tolist()]
    return {"dtype": NAMES[value.dtype], "shape": list(value.shape), "data": data}


def case(op, inputs, args=None, **results):
    """One case: the operation, its tensors, its other arguments by name, what it must give."""
    fields = {"op": op, "inputs": tensor(inputs), "args": args or {}}
    fields.update({name: tensor(result) for name, result in results.items()})
    return fields


def write(name, cases):
    """Writes NAME.json: the version of PyTorch that was asked, and one case per line."""
    lines = ",\n".join(json.dumps(item, separators=(",", ":")) for item in cases)
    version = torch.__version__.split("+")[0]
    text = f'{{"torch":"{version}","cases":[\n{lines}\n]}}\n'
    (FOLDER / f"{name}.json").write_text(text)
    print(f"{name}.json: {len(cases)} cases, {len(text)} bytes")


class Source:
    """Random tensors from a seed of one's own, so that a new case elsewhere changes nothing here."""

    def __init__(self, seed):
        self.generator = torch.Generator().manual_seed(seed)

    def uniform(self, shape, low=-2.0, high=2.0, dtype=torch.float32):
        """Floats in [low, high), rounded to four decimals to keep the files small and readable."""
        values = torch.rand(shape, generator=self.generator, dtype=torch.float64)
        return (torch.round((low + (high - low) * values) * 1e4) / 1e4).to(dtype)

    def integers(self, shape, low, high, dtype=torch.int64):
        """Integers in [low, high)."""
        return torch.randint(low, high, shape, generator=self.generator).to(dtype)

    def any(self, shape, dtype):
        """Values that suit the dtype: floats, small integers of both signs, bytes, truths."""
        if dtype.is_floating_point:
            return self.uniform(shape, dtype=dtype)
        low, high = {torch.int64: (-9, 10), torch.uint8: (0, 250), torch.bool: (0, 2)}[dtype]
        return self.integers(shape, low, high, dtype)
