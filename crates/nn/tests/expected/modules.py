"""Printed forms and names of modules and optimizers, as PyTorch has them.

    python modules.py > modules.json
"""

import json

import torch
from torch import nn


class Net(nn.Module):
    """Own parameters and buffers beside modules, single, in a list, in a dictionary, in a box."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("running_mean", torch.zeros(3))
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3, bias=False)])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 2), "b": nn.Sequential(nn.ReLU(), nn.Dropout(0.5))})


class Scaled(nn.Module):
    """Nothing but plain values."""

    def extra_repr(self):
        return "kernel_size=(3, 3), eps=1e-05, groups=1, affine=True, padding=(1,), bound=None"


class Wrapper(nn.Module):
    """Plain values beside modules."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Flatten(), nn.Linear(2, 2))

    def extra_repr(self):
        return "p=0.25"


class Tied(nn.Module):
    """A parameter at two places."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(3, 3)
        self.decoder = nn.Linear(3, 3)
        self.decoder.weight = self.encoder.weight


class Mixed(nn.Module):
    """One of several modules under a name, modules of several types in a list, buffers of both kinds."""

    def __init__(self, norm):
        super().__init__()
        self.pair = nn.ModuleList([nn.Linear(2, 3), nn.ReLU()])
        self.norm = norm
        self.register_buffer("mean", torch.zeros(3))
        self.register_buffer("mask", torch.ones(3), persistent=False)


class Scale(nn.Module):
    """A variant with a parameter of its own."""

    def __init__(self):
        super().__init__()
        self.by = nn.Parameter(torch.ones(3))

    def extra_repr(self):
        return "eps=0.5"


def describe(module):
    return {
        "printed": repr(module),
        "parameters": [name for name, _ in module.named_parameters()],
        "buffers": [name for name, _ in module.named_buffers()],
        "modules": [name for name, _ in module.named_modules()],
        "state": sorted(module.state_dict()),
    }


def optimizer_names(optimizer, ours):
    """The names of an optimizer's state after a step, of the hyperparameters that we have."""
    state = optimizer.state_dict()
    names = [f"state.{n}.{name}" for n, entry in state["state"].items() for name in entry]
    for group, options in enumerate(state["param_groups"]):
        for name in ours:
            full, value = f"param_groups.{group}.{name}", options[name]
            nested = isinstance(value, tuple)
            names += [f"{full}.{i}" for i in range(len(value))] if nested else [full]
    return sorted(names)


def stepped(make):
    layer = nn.Linear(3, 2)
    optimizer = make(layer.parameters())
    layer(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return optimizer


MODULES = {
    "linear": nn.Linear(784, 512),
    "linear_without_bias": nn.Linear(3, 2, bias=False),
    "relu": nn.ReLU(),
    "dropout": nn.Dropout(0.25),
    "flatten": nn.Flatten(),
    "gelu": nn.GELU(),
    "layer_norm": nn.LayerNorm([4, 3]),
    "layer_norm_of_a_vector": nn.LayerNorm(4),
    "embedding": nn.Embedding(10, 3),
    "conv1d": nn.Conv1d(2, 4, 3),
    "conv2d": nn.Conv2d(4, 6, (3, 5), stride=(2, 1), padding=1, dilation=2, groups=2, bias=False),
    "conv2d_same": nn.Conv2d(1, 8, 3, padding="same"),
    "conv3d": nn.Conv3d(1, 2, 3, padding=(0, 1, 0)),
    "conv_transpose1d": nn.ConvTranspose1d(2, 4, 3),
    "conv_transpose2d": nn.ConvTranspose2d(
        4, 6, 3, stride=2, padding=1, output_padding=1, groups=2, dilation=(1, 2)
    ),
    "conv_transpose3d": nn.ConvTranspose3d(1, 2, 2, bias=False),
    "sequential": nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 10)),
    "empty": nn.Sequential(),
    "nested": nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Flatten()),
    "net": Net(),
    "scaled": Scaled(),
    "wrapper": Wrapper(),
    "tied": Tied(),
    "mixed_norm": Mixed(nn.LayerNorm(3)),
    "mixed_scale": Mixed(Scale()),
    "mixed_identity": Mixed(nn.Identity()),
}

SGD_OPTIONS = ["lr", "momentum", "dampening", "weight_decay", "nesterov", "maximize"]
ADAM_OPTIONS = ["lr", "betas", "eps", "weight_decay", "amsgrad", "maximize"]
OPTIMIZERS = {
    "sgd": optimizer_names(stepped(lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)), SGD_OPTIONS),
    "adam": optimizer_names(stepped(lambda p: torch.optim.Adam(p, 0.1)), ADAM_OPTIONS),
    "adamw": optimizer_names(stepped(lambda p: torch.optim.AdamW(p, 0.1, amsgrad=True)), ADAM_OPTIONS),
    "rmsprop": optimizer_names(
        stepped(lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.9, centered=True)),
        ["lr", "alpha", "eps", "weight_decay", "momentum", "centered", "maximize"],
    ),
    "adagrad": optimizer_names(
        stepped(lambda p: torch.optim.Adagrad(p, 0.1)),
        ["lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps", "maximize"],
    ),
    "adadelta": optimizer_names(
        stepped(lambda p: torch.optim.Adadelta(p, 0.1)), ["lr", "rho", "eps", "weight_decay", "maximize"]
    ),
    "adamax": optimizer_names(
        stepped(lambda p: torch.optim.Adamax(p, 0.1)), ["lr", "betas", "eps", "weight_decay", "maximize"]
    ),
    "nadam": optimizer_names(
        stepped(lambda p: torch.optim.NAdam(p, 0.1)),
        ["lr", "betas", "eps", "weight_decay", "momentum_decay", "decoupled_weight_decay", "maximize"],
    ),
    "radam": optimizer_names(
        stepped(lambda p: torch.optim.RAdam(p, 0.1)),
        ["lr", "betas", "eps", "weight_decay", "decoupled_weight_decay", "maximize"],
    ),
    "asgd": optimizer_names(
        stepped(lambda p: torch.optim.ASGD(p, 0.1)), ["lr", "lambd", "alpha", "t0", "weight_decay", "maximize"]
    ),
    "rprop": optimizer_names(
        stepped(lambda p: torch.optim.Rprop(p, 0.1)), ["lr", "etas", "step_sizes", "maximize"]
    ),
}


def groups(make, ours):
    """Two groups of parameters after four steps under a schedule."""
    first = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    second = torch.tensor([-1.0, 4.0], requires_grad=True)
    optimizer = make(first, second)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)
    for _ in range(4):
        optimizer.zero_grad()
        (first.pow(3).sum() + second.pow(3).sum()).backward()
        optimizer.step()
        scheduler.step()
    rates = [group["lr"] for group in optimizer.param_groups]
    weights = [first.tolist(), second.tolist()]
    return {"weights": weights, "rates": rates, "names": optimizer_names(optimizer, ours)}


GROUPS = {
    "sgd": groups(
        lambda first, second: torch.optim.SGD(
            [{"params": [first]}, {"params": [second], "lr": 0.02, "nesterov": True}],
            0.01, momentum=0.9, weight_decay=0.1,
        ),
        SGD_OPTIONS,
    ),
    "adam": groups(
        lambda first, second: torch.optim.Adam(
            [{"params": [first]}, {"params": [second], "lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.0}],
            0.01, weight_decay=0.1,
        ),
        ADAM_OPTIONS,
    ),
}

def rates(make, epochs=12):
    """The learning rates of some epochs, of an optimizer that begins with 0.1."""
    optimizer = torch.optim.SGD(nn.Linear(2, 2).parameters(), 0.1)
    scheduler = make(optimizer)
    found = []
    for _ in range(epochs):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


RATES = {
    "step": rates(lambda o: torch.optim.lr_scheduler.StepLR(o, 3, 0.5)),
    "exponential": rates(lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9)),
    "cosine": rates(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 5, 0.01)),
    "linear": rates(lambda o: torch.optim.lr_scheduler.LinearLR(o, 0.2, 1.0, 4)),
    "lambda": rates(lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda epoch: 1 / (1 + epoch))),
}

if __name__ == "__main__":
    modules = {name: describe(module) for name, module in MODULES.items()}
    print(json.dumps({"torch": torch.__version__.split("+")[0], "modules": modules, "optimizers": OPTIMIZERS, "groups": GROUPS, "rates": RATES}, indent=1))
