"""The first steps of training a small network: losses and weights, for each optimiser."""

import torch
import torch.nn.functional as F

from cases import Source, case

STEPS = 5
OPTIMIZERS = {
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_momentum": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "sgd_nesterov": (
        torch.optim.SGD,
        {"lr": 0.05, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True},
    ),
    "sgd_dampening": (torch.optim.SGD, {"lr": 0.05, "momentum": 0.9, "dampening": 0.5}),
    "adam": (torch.optim.Adam, {"lr": 0.01}),
    "adam_decay": (
        torch.optim.Adam,
        {"lr": 0.01, "betas": [0.8, 0.99], "eps": 1e-6, "weight_decay": 0.1},
    ),
}


def training():
    """inputs: images [12, 6], labels [12], then weight and bias of each of two layers, 6-8-4."""
    source = Source(40)
    images, labels = source.uniform((12, 6)), source.integers((12,), 0, 4)
    shapes = [(8, 6), (8,), (4, 8), (4,)]
    initial = [source.uniform(shape, -0.5, 0.5) for shape in shapes]
    for name, (optimizer, options) in OPTIMIZERS.items():
        weights = [value.clone().requires_grad_(True) for value in initial]
        step = optimizer(weights, **options)
        losses, first = [], None
        for _ in range(STEPS):
            hidden = F.relu(F.linear(images, weights[0], weights[1]))
            loss = F.cross_entropy(F.linear(hidden, weights[2], weights[3]), labels)
            step.zero_grad()
            loss.backward()
            first = first or [weight.grad.clone() for weight in weights]
            step.step()
            losses.append(loss.item())
        inputs = [images, labels, *initial]
        yield case(name, inputs, options, losses=losses, gradients=first, weights=weights)
