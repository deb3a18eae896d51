"""Writes the files that the tests read: PyTorch 2.15.0, safetensors 0.8.0, NumPy 2.4.6.

python make.py    # in this folder

Beside them comes expected.json: for each file and each tensor in it the dtype, the shape, the
strides and the elements. What PyTorch writes has a number of its own in each run
(`.data/serialization_id`), so the files differ from run to run; what is in them does not.
"""

import json
import warnings
import zipfile

import numpy as np
import torch
from safetensors.torch import save_file

warnings.simplefilter("ignore")
torch.manual_seed(0)
expected = {}


def described(x):
    x = torch.as_tensor(x)
    values = x.to(torch.float64) if x.is_floating_point() else x.to(torch.int64)
    return {
        "dtype": str(x.dtype).removeprefix("torch."),
        "shape": list(x.shape),
        "strides": list(x.stride()),
        "values": values.flatten().tolist(),
    }


def expect(file, tensors):
    expected[file] = {name: described(x) for name, x in tensors.items()}


DTYPES = [
    torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int64,
    torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool,
]
NUMBERS = torch.tensor([[0.0, 1.0, 2.5], [-3.0, 100.0, 0.125]], dtype=torch.float64)
state = {}
for dtype in DTYPES:
    x = NUMBERS.abs() if dtype == torch.uint8 else NUMBERS
    state[str(dtype).removeprefix("torch.")] = x.to(dtype)
state["number"] = torch.tensor(7, dtype=torch.int64)
state["empty"] = torch.zeros(2, 0, 3, dtype=torch.float16)

# PyTorch's own format.
whole = torch.arange(12, dtype=torch.float32).reshape(3, 4)
views = {
    "whole": whole,
    "transposed": whole.t(),
    "part": whole[1:, 1:3],
    "repeated": torch.tensor([5.0]).expand(2, 3),
    "tied": whole,
}
torch.save(state | views, "state.pt")
expect("state.pt", state | views)

model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1, bias=False))
torch.save(model.state_dict(), "model.pt")
expect("model.pt", model.state_dict())

half = {"weight": model[0].weight.detach().bfloat16(), "bias": model[0].bias.detach().half()}
torch.save(half, "half.pt", pickle_protocol=4)
expect("half.pt", half)

optimizer = torch.optim.Adam(model.parameters(), lr=0.125)
model(torch.ones(4, 3)).sum().backward()
optimizer.step()
best = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
torch.save({
    "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3,
    "losses": [0.5, 0.25], "history": [torch.tensor([1, 2]), torch.tensor(3)], "best": best,
    "done": True, "note": None, "size": torch.Size([1, 2]),
}, "checkpoint.pt")
names = {f"model.{name}": x for name, x in model.state_dict().items()}
for index, values in optimizer.state_dict()["state"].items():
    names |= {f"optimizer.state.{index}.{name}": x for name, x in values.items()}
names |= {"history.0": torch.tensor([1, 2]), "history.1": torch.tensor(3), "best": best.detach()}
expect("checkpoint.pt", names)

torch.save(torch.tensor([1.5, 2.5]), "tensor.pt")
expect("tensor.pt", {"": torch.tensor([1.5, 2.5])})

torch.serialization.set_crc32_options(False)
torch.save(half, "no_checksums.pt")
torch.serialization.set_crc32_options(True)
expect("no_checksums.pt", half)

# Files that are refused.
torch.save({"model": model}, "module.pt")
torch.save({"known": torch.ones(2), "complex": torch.ones(2, dtype=torch.complex64),
            "unsigned": torch.ones(2, dtype=torch.uint16),
            "eight": torch.ones(2).to(torch.float8_e4m3fn)}, "dtypes.pt")
torch.save(half, "old.pt", _use_new_zipfile_serialization=False)


def again(source, target, change):
    """An archive with entries changed, added or deflated."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            new.writestr(*change(entry.filename, old.read(entry)))


again("half.pt", "big_endian.pt",
      lambda name, data: (name, b"big" if name.endswith("byteorder") else data))
again("half.pt", "program.pt",
      lambda name, data: (name.replace("version", "constants.pkl"), data))
again("half.pt", "deflated.pt", lambda name, data: (name, data, zipfile.ZIP_DEFLATED))
expect("deflated.pt", half)

# safetensors.
save_file(state, "state.safetensors", metadata={"format": "pt", "note": "näh"})
expect("state.safetensors", state)
save_file({"known": torch.ones(2), "unsigned": torch.ones(2, dtype=torch.uint16)}, "dtypes.safetensors")
save_file(half, "half.safetensors")
expect("half.safetensors", half)

# NumPy.
arrays = {name: x.numpy() for name, x in state.items() if name != "bfloat16"}
np.savez("arrays.npz", **arrays)
expect("arrays.npz", {name: x for name, x in state.items() if name != "bfloat16"})
few = {"a": np.arange(3, dtype=np.float16), "b": np.zeros((40, 50), dtype=np.int32)}
np.savez_compressed("compressed.npz", **few)
expect("compressed.npz", few)
columns = np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3))
for file, x in {"half.npy": arrays["float16"], "bools.npy": arrays["bool"], "number.npy": np.int64(7),
                "columns.npy": columns, "empty.npy": arrays["empty"]}.items():
    np.save(file, x)
    expect(file, {"": x})
for file, x in {"big_endian.npy": np.array([1.5, -2.0], dtype=">f4"),
                "big_endian_columns.npy": np.asfortranarray(np.array([[1, 2], [3, 4]], dtype=">i8"))}.items():
    np.save(file, x)
    expect(file, {"": x.astype(x.dtype.newbyteorder("="), order="K")})
np.save("brain.npy", half["weight"].view(torch.int16).numpy().view("V2"))
np.save("unsigned.npy", np.arange(3, dtype=np.uint16))
np.save("complex.npy", np.ones(2, dtype=np.complex64))
np.save("records.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i2")]))
np.save("objects.npy", np.array([{}, "text"], dtype=object), allow_pickle=True)

with open("expected.json", "w") as file:
    # A line for each tensor.
    lines = ",\n".join(
        json.dumps(name) + ": {\n" + ",\n".join(
            f"  {json.dumps(tensor)}: {json.dumps(x)}" for tensor, x in tensors.items()
        ) + "\n}" for name, tensors in expected.items()
    )
    file.write("{\n" + lines + "\n}\n")
