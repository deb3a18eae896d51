"""Connectionist temporal classification, whose gradient PyTorch does not differentiate again."""

import torch
import torch.nn.functional as F

from cases import case
from gradients import F64, Gradients

REDUCTIONS = ("mean", "sum", "none")


def alignments():
    """Batches and single sequences, targets as a matrix and one after the other, labels that repeat, that
    are none, and that do not fit."""
    make = Gradients(31)
    matrix = torch.tensor([[1, 2, 2], [3, 1, 0], [2, 0, 0]])
    for dtype in (torch.float32, F64):
        for reduction in REDUCTIONS:
            for targets, counts in ((matrix, [3, 2, 1]), (torch.tensor([1, 2, 2, 3, 1]), [3, 2, 0])):
                for lengths in ([5, 4, 3], [5, 1, 0]):
                    for zero in (True,) if min(lengths) < 3 else (True, False):
                        args = dict(blank=0, reduction=reduction, zero_infinity=zero)
                        x = make.uniform((5, 3, 4), -3, 0, dtype).log_softmax(-1)
                        yield asked(make, x, targets, lengths, counts, args)
        args = dict(blank=2, reduction="sum", zero_infinity=False)
        x = make.uniform((4, 3), -3, 0, dtype).log_softmax(-1)
        yield asked(make, x, torch.tensor([1, 1]), [4], [2], args)


def asked(make, x, targets, lengths, counts, args):
    """The loss and its gradient."""
    leaf = x.clone().requires_grad_()
    sizes = [torch.tensor(n if x.dim() == 3 else n[0]) for n in (lengths, counts)]
    output = F.ctc_loss(leaf, targets, *sizes, **args)
    gradient = make.uniform(output.shape, dtype=output.dtype)
    gradients = torch.autograd.grad(output, [leaf], gradient)
    args = dict(lengths=lengths, counts=counts, **args)
    return case("ctc_loss", [x, targets], args, output=output, gradient=gradient, gradients=[*gradients, None])
