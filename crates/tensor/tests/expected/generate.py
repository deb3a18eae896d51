"""Asks PyTorch (CPU) what the operations give, and writes the answers as JSON beside this file.

    python generate.py        # needs the packages `torch` and `numpy`

The seeds are fixed: the same version of PyTorch writes the same files.
"""

import torch

import elementwise
from alignments import alignments
from attention import attention
from autocast import autocast, mixed_training
from cases import write
from convolutions import convolution_dtypes, convolutions
from functional import functional
from gathered import gathered
from gradients import gradients
from indexing import indexing
from operations import FAMILIES
from printing import printed
from promotion import table
from sorting import sorting
from special import linalg, special, special_values
from training import training
from windows import fractions, powers, samples, windows

if __name__ == "__main__":
    torch.set_num_threads(1)
    others = {
        "promotion": table, "printed": printed, "gradients": gradients, "training": training,
        "gathered": gathered, "indexing": indexing, "windows": windows, "samples": samples,
        "convolutions": convolutions, "convolution_dtypes": convolution_dtypes,
        "functional": functional, "sorting": sorting, "attention": attention,
        "special": special, "special_values": special_values, "linalg": linalg,
        "powers": powers, "fractions": fractions, "alignments": alignments,
        "autocast": autocast, "mixed_training": mixed_training,
    }
    for name, family in {**FAMILIES, **elementwise.FAMILIES, **others}.items():
        write(name, list(family()))
