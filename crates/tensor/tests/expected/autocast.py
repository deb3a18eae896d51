"""The dtypes that operations give under `torch.autocast`, of operands in single and in half precision,
and the losses of a short training with it.

On the CPU the operations run. Those on CUDA run on fake tensors, which have dtypes and no elements, so
that no GPU is needed.
"""

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode

# Each of two matrices [4, 4], a vector of four int64 classes, and a batch of four matrices.
OPERATIONS = {
    "matmul": lambda x, y, c: x @ y,
    "mm": lambda x, y, c: x.mm(y),
    "bmm": lambda x, y, c: x[None].bmm(y[None]),
    "mv": lambda x, y, c: x.mv(y[0]),
    "dot": lambda x, y, c: x[0].dot(y[0]),
    "addmm": lambda x, y, c: x.addmm(x, y),
    "addmv": lambda x, y, c: x[0].addmv(x, y[0]),
    "addr": lambda x, y, c: x.addr(x[0], y[0]),
    "addbmm": lambda x, y, c: x.addbmm(x[None], y[None]),
    "baddbmm": lambda x, y, c: x[None].baddbmm(x[None], y[None]),
    "linear": lambda x, y, c: F.linear(x, y, x[0]),
    "einsum": lambda x, y, c: torch.einsum("ij,jk->ik", x, y),
    "tensordot": lambda x, y, c: torch.tensordot(x, y, 1),
    "vecdot": lambda x, y, c: torch.linalg.vecdot(x, y),
    "multi_dot": lambda x, y, c: torch.linalg.multi_dot([x, y, x]),
    "bilinear": lambda x, y, c: F.bilinear(x, y, x[None]),
    "conv1d": lambda x, y, c: F.conv1d(x[None], y[..., None], x[0]),
    "conv_transpose1d": lambda x, y, c: F.conv_transpose1d(x[None], y[..., None]),
    "attention": lambda x, y, c: F.scaled_dot_product_attention(x[None], y[None], y[None]),
    "prelu": lambda x, y, c: F.prelu(x, y[0]),
    "exp": lambda x, y, c: x.exp(),
    "expm1": lambda x, y, c: x.expm1(),
    "log": lambda x, y, c: x.log(),
    "log1p": lambda x, y, c: x.log1p(),
    "log2": lambda x, y, c: x.log2(),
    "pow": lambda x, y, c: x.pow(1.7),
    "pow_tensor": lambda x, y, c: x.pow(y),
    "square": lambda x, y, c: x.pow(2),
    "rpow": lambda x, y, c: 2.0**x,
    "reciprocal": lambda x, y, c: x.reciprocal(),
    "rsqrt": lambda x, y, c: x.rsqrt(),
    "sqrt": lambda x, y, c: x.sqrt(),
    "tan": lambda x, y, c: x.tan(),
    "sin": lambda x, y, c: x.sin(),
    "acos": lambda x, y, c: x.acos(),
    "erfinv": lambda x, y, c: x.erfinv(),
    "erf": lambda x, y, c: x.erf(),
    "softplus": lambda x, y, c: F.softplus(x),
    "relu": lambda x, y, c: x.relu(),
    "gelu": lambda x, y, c: F.gelu(x),
    "silu": lambda x, y, c: F.silu(x),
    "sigmoid": lambda x, y, c: x.sigmoid(),
    "tanh": lambda x, y, c: x.tanh(),
    "add": lambda x, y, c: x + y,
    "mul": lambda x, y, c: x * y,
    "div": lambda x, y, c: x / y,
    "where": lambda x, y, c: torch.where(x > y, x, y),
    "sum": lambda x, y, c: x.sum(),
    "sum_dim": lambda x, y, c: x.sum(1),
    "mean": lambda x, y, c: x.mean(),
    "prod": lambda x, y, c: x.prod(),
    "amax": lambda x, y, c: x.amax(1),
    "var": lambda x, y, c: x.var(),
    "logsumexp": lambda x, y, c: x.logsumexp(1),
    "norm": lambda x, y, c: torch.linalg.vector_norm(x),
    "matrix_norm": lambda x, y, c: torch.linalg.matrix_norm(x),
    "dist": lambda x, y, c: torch.dist(x, y),
    "cdist": lambda x, y, c: torch.cdist(x, y),
    "pdist": lambda x, y, c: F.pdist(x),
    "renorm": lambda x, y, c: x.renorm(2, 0, 1.0),
    "cosine_similarity": lambda x, y, c: F.cosine_similarity(x, y),
    "cumsum": lambda x, y, c: x.cumsum(0),
    "cumprod": lambda x, y, c: x.cumprod(0),
    "softmax": lambda x, y, c: x.softmax(-1),
    "log_softmax": lambda x, y, c: x.log_softmax(-1),
    "layer_norm": lambda x, y, c: F.layer_norm(x, [4], y[0], y[1]),
    "rms_norm": lambda x, y, c: F.rms_norm(x, [4], y[0]),
    "group_norm": lambda x, y, c: F.group_norm(x, 2, y[0], y[1]),
    "batch_norm": lambda x, y, c: F.batch_norm(x, None, None, None, None, True),
    "dropout": lambda x, y, c: F.dropout(x, 0.5),
    "max_pool1d": lambda x, y, c: F.max_pool1d(x, 2),
    "avg_pool1d": lambda x, y, c: F.avg_pool1d(x, 2),
    "interpolate": lambda x, y, c: F.interpolate(x[None], scale_factor=2, mode="linear"),
    "embedding": lambda x, y, c: F.embedding(c, x),
    "cat": lambda x, y, c: torch.cat([x, y]),
    "gather": lambda x, y, c: x.gather(1, c[:, None]),
    "scatter_add": lambda x, y, c: x.scatter_add(0, c[:, None], y),
    "index_copy": lambda x, y, c: x.index_copy(0, c.unique(), y[: len(c.unique())]),
    "mse_loss": lambda x, y, c: F.mse_loss(x, y),
    "l1_loss": lambda x, y, c: F.l1_loss(x, y),
    "smooth_l1_loss": lambda x, y, c: F.smooth_l1_loss(x, y),
    "huber_loss": lambda x, y, c: F.huber_loss(x, y),
    "kl_div": lambda x, y, c: F.kl_div(x, y, reduction="sum"),
    "poisson_nll_loss": lambda x, y, c: F.poisson_nll_loss(x, y),
    "gaussian_nll_loss": lambda x, y, c: F.gaussian_nll_loss(x, y, y),
    "soft_margin_loss": lambda x, y, c: F.soft_margin_loss(x, y),
    "hinge_embedding_loss": lambda x, y, c: F.hinge_embedding_loss(x, y),
    "margin_ranking_loss": lambda x, y, c: F.margin_ranking_loss(x, y, y),
    "cosine_embedding_loss": lambda x, y, c: F.cosine_embedding_loss(x, y, y[0]),
    "triplet_margin_loss": lambda x, y, c: F.triplet_margin_loss(x, y, x),
    "multi_margin_loss": lambda x, y, c: F.multi_margin_loss(x, c),
    "multilabel_soft_margin_loss": lambda x, y, c: F.multilabel_soft_margin_loss(x, y),
    "cross_entropy": lambda x, y, c: F.cross_entropy(x, c),
    "nll_loss": lambda x, y, c: F.nll_loss(x, c),
    "binary_cross_entropy_with_logits": lambda x, y, c: F.binary_cross_entropy_with_logits(x, y),
}


def dtype_of(operation, kind, half, operand, other):
    """The dtype of a result, or "error"."""
    device = torch.device(kind)
    x = torch.full((4, 4), 0.25, dtype=operand, device=device)
    y = torch.full((4, 4), 0.5, dtype=other, device=device)
    classes = torch.zeros(4, dtype=torch.int64, device=device)
    torch.set_autocast_enabled(kind, True)
    torch.set_autocast_dtype(kind, half)
    try:
        return str(operation(x, y, classes).dtype).removeprefix("torch.")
    except (RuntimeError, NotImplementedError):
        return "error"
    finally:
        torch.set_autocast_enabled(kind, False)
        torch.clear_autocast_cache()


def dtypes(kind):
    """For each operation the dtypes of results of singles, of halves, and of one of each."""
    half, single = torch.bfloat16, torch.float32
    pairs = [(single, single), (half, half), (half, single)]
    for name, operation in OPERATIONS.items():
        found = [dtype_of(operation, kind, half, *pair) for pair in pairs]
        yield {"operation": name, "device": kind, "dtypes": found}


def mixed_training():
    """The losses of a small network on the CPU, in bfloat16, and the dtypes on the way."""
    torch.manual_seed(0)
    shapes = [(8, 4), (8,), (3, 8), (3,)]
    weights = [(torch.randn(shape) * 0.3).requires_grad_() for shape in shapes]
    start = [weight.detach().flatten().tolist() for weight in weights]
    x, classes = torch.randn(16, 4), torch.randint(0, 3, (16,))
    losses = []
    for _ in range(10):
        with torch.autocast("cpu", torch.bfloat16):
            hidden = F.gelu(F.linear(x, weights[0], weights[1]))
            scores = F.linear(hidden, weights[2], weights[3])
            loss = F.cross_entropy(scores, classes)
        for weight in weights:
            weight.grad = None
        loss.backward()
        with torch.no_grad():
            for weight in weights:
                weight -= 0.5 * weight.grad
        losses.append(loss.item())
    yield {
        "shapes": shapes,
        "weights": start,
        "x": x.flatten().tolist(),
        "classes": classes.tolist(),
        "losses": losses,
        "gradient": weights[0].grad.flatten().tolist(),
    }


def autocast():
    """The dtypes on both kinds of devices."""
    yield from dtypes("cpu")
    with FakeTensorMode():
        yield from dtypes("cuda")
