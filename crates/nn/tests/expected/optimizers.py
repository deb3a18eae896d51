"""Parameters after some steps of each optimizer, the rates of schedules, and clipped gradients, as PyTorch has them.

    python optimizers.py > optimizers.json
"""

import json
import math

import torch
from torch import optim
from torch.optim import lr_scheduler
from torch.optim.swa_utils import SWALR

STEPS = 8

# By the names of the tests. All begin at the same parameters, with the same gradients.
OPTIMIZERS = {
    "sgd": lambda p: optim.SGD(p, 0.1, momentum=0.9, dampening=0.5, weight_decay=0.1),
    "sgd_maximize": lambda p: optim.SGD(p, 0.1, maximize=True),
    "adam_amsgrad": lambda p: optim.Adam(p, 0.1, weight_decay=0.1, amsgrad=True),
    "adamw": lambda p: optim.AdamW(p, 0.1, weight_decay=0.2),
    "adamw_amsgrad": lambda p: optim.AdamW(p, 0.1, amsgrad=True, maximize=True),
    "rmsprop": lambda p: optim.RMSprop(p, 0.1, weight_decay=0.1),
    "rmsprop_momentum": lambda p: optim.RMSprop(p, 0.01, momentum=0.9),
    "rmsprop_centered": lambda p: optim.RMSprop(p, 0.01, alpha=0.5, centered=True),
    "rmsprop_both": lambda p: optim.RMSprop(p, 0.01, alpha=0.5, centered=True, momentum=0.9),
    "adagrad": lambda p: optim.Adagrad(p, 0.1, lr_decay=0.1, initial_accumulator_value=0.5),
    "adadelta": lambda p: optim.Adadelta(p, 10.0, weight_decay=0.1),
    "adamax": lambda p: optim.Adamax(p, 0.1, weight_decay=0.1),
    "nadam": lambda p: optim.NAdam(p, 0.1, weight_decay=0.1),
    "nadam_decoupled": lambda p: optim.NAdam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": lambda p: optim.RAdam(p, 0.1, betas=(0.8, 0.9), weight_decay=0.1),
    "radam_decoupled": lambda p: optim.RAdam(p, 0.1, weight_decay=0.1, decoupled_weight_decay=True),
    "asgd": lambda p: optim.ASGD(p, 0.1, lambd=0.1, t0=3, weight_decay=0.1),
    "rprop": lambda p: optim.Rprop(p, 0.1),
    "adafactor": lambda p: optim.Adafactor(p, 0.1, weight_decay=0.1),
}

SCHEDULES = {
    "multi_step": lambda o: lr_scheduler.MultiStepLR(o, [2, 5, 5, 9], 0.5),
    "constant": lambda o: lr_scheduler.ConstantLR(o, 0.25, 4),
    "polynomial": lambda o: lr_scheduler.PolynomialLR(o, 8, 2.0),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "restarts_even": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 4),
    "multiplicative": lambda o: lr_scheduler.MultiplicativeLR(o, lambda epoch: 1 - 0.01 * epoch),
    "triangular": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3),
    "triangular2": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3, 2, mode="triangular2"),
    "exp_range": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9),
    "one_cycle": lambda o: lr_scheduler.OneCycleLR(o, 0.2, 17),
    "one_cycle_linear": lambda o: lr_scheduler.OneCycleLR(o, 0.2, 17, anneal_strategy="linear", three_phase=True),
    "sequential": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.25, 1.0, 4), lr_scheduler.ExponentialLR(o, 0.9)], [5]
    ),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.LinearLR(o, 0.25, 1.0, 4), lr_scheduler.ExponentialLR(o, 0.9)], o
    ),
    "swa": lambda o: SWALR(o, 0.05, anneal_epochs=4),
    "swa_linear": lambda o: SWALR(o, 0.3, anneal_epochs=3, anneal_strategy="linear"),
}
EPOCHS = 16

PLATEAUS = {
    "min": dict(factor=0.5, patience=1, cooldown=1, min_lr=0.02),
    "max_abs": dict(mode="max", factor=0.5, patience=0, threshold=0.05, threshold_mode="abs"),
}
VALUES = [1.0, 0.8, 0.9, 0.9, 0.9, 0.9, 0.7, 0.75, 0.75, 0.75, 0.75, 0.75, 1.2, 1.24]


def start():
    first = torch.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -0.25]], requires_grad=True)
    return [first, torch.tensor([4.0, -1.0], requires_grad=True)]


def gradient(parameter, step):
    """Gradients that change their signs, with a step without any slope."""
    size = 0.0 if step == 3 else 1.0
    numbers = [size * math.sin(1.0 + 2.0 * step + 0.7 * n) for n in range(parameter.numel())]
    return torch.tensor(numbers).reshape(parameter.shape)


def after_steps(make):
    parameters = start()
    optimizer = make(parameters)
    for step in range(STEPS):
        for parameter in parameters:
            parameter.grad = gradient(parameter, step)
        optimizer.step()
    return [parameter.detach().flatten().tolist() for parameter in parameters]


def sgd():
    return optim.SGD([torch.zeros(1, requires_grad=True)], 0.1, momentum=0.9)


def rates(make):
    """Rates and momenta of epochs."""
    optimizer = sgd()
    scheduler = make(optimizer)
    found = []
    for _ in range(EPOCHS):
        group = optimizer.param_groups[0]
        found.append([group["lr"], group["momentum"]])
        optimizer.step()
        scheduler.step()
    return found


def rates_of_groups():
    """Rates of two groups with rates of their own at the end."""
    groups = [{"params": [torch.zeros(1, requires_grad=True)], "lr": lr} for lr in (0.1, 0.5)]
    optimizer = optim.SGD(groups, 0.1)
    scheduler = SWALR(optimizer, [0.05, 0.3], anneal_epochs=4)
    found = []
    for _ in range(EPOCHS):
        found.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        scheduler.step()
    return found


def plateau(options):
    optimizer = sgd()
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, **options)
    found = []
    for value in VALUES:
        scheduler.step(value)
        found.append(optimizer.param_groups[0]["lr"])
    return found


def rosenbrock(line_search_fn):
    """The losses of some steps of L-BFGS, and where it ends."""
    x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], 0.01 if line_search_fn is None else 1.0, max_iter=5, line_search_fn=line_search_fn)

    def closure():
        optimizer.zero_grad()
        loss = 100 * (x[1] - x[0] ** 2) ** 2 + (x[0] - 1) ** 2
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(6)]
    return {"losses": losses, "x": x.tolist()}


def clipped(norm_type):
    parameters = start()
    for parameter in parameters:
        parameter.grad = gradient(parameter, 0)
    norm = torch.nn.utils.clip_grad_norm_(parameters, 0.5, norm_type)
    return {"norm": norm.item(), "gradients": [p.grad.flatten().tolist() for p in parameters]}


if __name__ == "__main__":
    print(json.dumps({
        "torch": torch.__version__.split("+")[0],
        "optimizers": {name: after_steps(make) for name, make in OPTIMIZERS.items()},
        "schedules": {name: rates(make) for name, make in SCHEDULES.items()},
        "rates_of_groups": rates_of_groups(),
        "values": VALUES,
        "plateaus": {name: plateau(options) for name, options in PLATEAUS.items()},
        "lbfgs": {str(search): rosenbrock(search) for search in (None, "strong_wolfe")},
        "clipped": {str(norm): clipped(norm) for norm in (1.0, 2.0, math.inf)},
    }, indent=1))
