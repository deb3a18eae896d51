"""States of modules in the dtypes that models are kept in, with an input and PyTorch's output for each.

    python states.py      writes states.pt and states.safetensors beside itself

In states.pt there is a state dictionary under the name of each module and dtype; in states.safetensors
the same tensors under dotted names, and `input` and `output` beside them.
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

torch.manual_seed(0)
MODULES = {
    "linear": (nn.Linear(4, 3), torch.randn(5, 4)),
    "linear_without_bias": (nn.Linear(4, 3, bias=False), torch.randn(2, 5, 4)),
    "layer_norm": (nn.LayerNorm(4), torch.randn(5, 4)),
    "embedding": (nn.Embedding(7, 4), torch.tensor([[0, 6], [3, 3]])),
    "sequential": (
        nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2)),
        torch.randn(5, 2, 2),
    ),
}

states, tensors = {}, {}
for name, (module, data) in MODULES.items():
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    for dtype_name, dtype in DTYPES.items():
        module = module.to(dtype).eval()
        given = data.to(dtype) if data.is_floating_point() else data
        key = f"{name}_{dtype_name}"
        states[key] = {k: v.clone() for k, v in module.state_dict().items()}
        tensors |= {f"{key}.{k}": v for k, v in states[key].items()}
        tensors[f"{key}.input"] = given.clone()
        tensors[f"{key}.output"] = module(given).detach().contiguous()
        module.to(torch.float32)

folder = Path(__file__).parent
torch.save(states, folder / "states.pt")
save_file(tensors, folder / "states.safetensors", metadata={"torch": torch.__version__.split("+")[0]})
