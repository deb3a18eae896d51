"""States of parametrized layers before and after a call in training, what they compute, and their gradients, as
PyTorch has them.

    python parametrize.py > parametrize.json
"""

import json

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

LAYERS = {
    "weight_norm": lambda: weight_norm(nn.Linear(3, 4)),
    "weight_norm_of_columns": lambda: weight_norm(nn.Linear(3, 4), dim=1),
    "weight_norm_of_all": lambda: weight_norm(nn.Linear(3, 4), dim=None),
    "weight_norm_of_bias": lambda: weight_norm(nn.Linear(3, 4), "bias"),
    "weight_norm_of_images": lambda: weight_norm(nn.Conv2d(3, 4, 2)),
    "spectral_norm": lambda: spectral_norm(nn.Linear(3, 4)),
    "spectral_norm_of_columns": lambda: spectral_norm(nn.Linear(3, 4), n_power_iterations=2, dim=1),
    "spectral_norm_of_bias": lambda: spectral_norm(nn.Linear(3, 4), "bias"),
    "spectral_norm_of_images": lambda: spectral_norm(nn.Conv2d(3, 4, 2)),
    "both": lambda: spectral_norm(weight_norm(nn.Linear(3, 4)), "bias"),
}


def flat(tensor):
    return {"shape": list(tensor.shape), "data": tensor.detach().flatten().tolist()}


def state(layer):
    return {name: flat(tensor) for name, tensor in layer.state_dict().items()}


def describe(make):
    torch.manual_seed(7)
    layer = make()
    if isinstance(layer, nn.Conv2d):
        x = torch.randn(2, 3, 3, 3)
    else:
        x = torch.randn(5, 3)
    before = state(layer)
    # Parameters that are not those at the beginning, where sizes and directions fit each other.
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    moved = state(layer)
    y = layer(x)
    y.square().sum().backward()
    gradients = {name: flat(parameter.grad) for name, parameter in layer.named_parameters()}
    after = state(layer)
    evaluated = layer.eval()(x)
    return {
        "x": flat(x), "before": before, "moved": moved, "y": flat(y), "gradients": gradients,
        "after": after, "evaluated": flat(evaluated),
    }


if __name__ == "__main__":
    print(json.dumps({
        "torch": torch.__version__.split("+")[0],
        "layers": {name: describe(make) for name, make in LAYERS.items()},
    }))
