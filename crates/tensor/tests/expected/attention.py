"""Attention: results, gradients, and the gradients of these."""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from gradients import F64, Gradients

# Queries, keys and values, and whether heads share keys.
SHAPES = [
    ((2, 2, 4, 3), (2, 2, 4, 3), (2, 2, 4, 3), False),
    ((3, 5), (4, 5), (4, 2), False),
    ((1, 4, 3, 2), (2, 1, 6, 2), (2, 1, 6, 3), False),
    ((1, 4, 3, 5), (1, 2, 6, 5), (1, 2, 6, 5), True),
]


def run(**options):
    """The attention by PyTorch's operations one by one, which have all gradients."""
    def attend(q, k, v, mask=None):
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(q, k, v, mask, **options)
    return attend


def attention():
    """All of them."""
    make = Gradients(57)
    for dtype in (torch.float32, F64):
        for q, k, v, shares in SHAPES if dtype == F64 else SHAPES[-1:]:
            sizes = (q[-2], k[-2])
            inputs = [make.uniform(shape, dtype=dtype) for shape in (q, k, v)]
            for causal, scale in ((False, None), (True, None), (False, 0.3)):
                options = {"is_causal": causal, "scale": scale, "enable_gqa": shares}
                yield make.case("attention", inputs, run(**options), causal=causal,
                                scale=scale if scale else -1.0, shares=shares)
            added = make.uniform(sizes, dtype=dtype)
            # The second query sees no key, the others some.
            seen = make.source.integers(sizes, 0, 2).bool()
            seen[:, 0], seen[1] = True, False
            for mask in (added, seen):
                yield make.case("attention", [*inputs, mask], run(enable_gqa=shares), causal=False,
                                scale=-1.0, shares=shares)
