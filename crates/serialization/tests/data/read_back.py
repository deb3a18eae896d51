"""Reads what `cargo run -p serialization --example write_all -- FOLDER` has written, and compares it
with what PyTorch makes of the same numbers: PyTorch 2.15.0, safetensors
0.8.0, NumPy 2.4.6.

python read_back.py FOLDER
"""

import json
import pathlib
import sys

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file

folder = pathlib.Path(sys.argv[1])
NUMBERS = torch.tensor([[0.0, 1.0, 2.5], [-3.0, 100.0, 0.125]], dtype=torch.float64)
DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64,
    torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
]
expected = {}
for dtype in DTYPES:
    x = NUMBERS.abs() if dtype == torch.uint8 else NUMBERS
    expected[str(dtype).removeprefix("torch.")] = x.to(dtype)
expected["number"] = torch.tensor(7)
expected["empty"] = torch.zeros(2, 0, 3)
expected["transposed"] = NUMBERS.float().t()


def compare(what, found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape, (what, found, wanted)
    assert torch.equal(found, wanted), (what, found, wanted)


def compare_all(what, found, wanted):
    assert found.keys() == wanted.keys(), (what, found.keys())
    for name in wanted:
        compare(f"{what}: {name}", found[name], wanted[name])


compare_all("safetensors", load_file(folder / "state.safetensors"), expected)
with safe_open(folder / "state.safetensors", "pt") as file:
    assert file.metadata() == {"format": "pt", "note": "näh"}, file.metadata()

index = json.loads((folder / "sharded.safetensors.index.json").read_text())
shards = {}
for file in sorted(set(index["weight_map"].values())):
    part = load_file(folder / file)
    assert all(index["weight_map"][name] == file for name in part)
    shards |= part
compare_all("sharded", shards, expected)
assert index["metadata"]["total_size"] == sum(x.nbytes for x in expected.values())
assert len(set(index["weight_map"].values())) > 1

in_numpy = {name: x for name, x in expected.items() if name != "bfloat16"}
with np.load(folder / "state.npz") as file:
    compare_all("npz", {name: torch.from_numpy(file[name]) for name in file.files}, in_numpy)
for name, x in in_numpy.items():
    compare(name, torch.from_numpy(np.load(folder / f"{name}.npy")), x)
print(f"{len(expected)} tensors in safetensors, {len(in_numpy)} in .npy and .npz: all equal")
