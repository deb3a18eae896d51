"""Normalisations, losses, distances and tables: values, gradients, and the gradients of these."""

import torch
import torch.nn.functional as F

from gradients import F64, Gradients

REDUCTIONS = ("mean", "sum", "none")


def norms(make):
    """Batches, groups, instances and rows, with and without parameters."""
    shape, channels = (2, 4, 2, 3), [(4,), (4,)]
    for dtype in (torch.float32, F64):
        x = make.uniform(shape, dtype=dtype)
        affine = [make.uniform(size, 0.5, 2, dtype) for size in channels]
        for inputs in ([x], [x, *affine]):
            run = lambda a, w=None, b=None: F.batch_norm(a, None, None, w, b, True, 0.1, 1e-3)
            yield make.case("batch_norm", inputs, run, eps=1e-3)
            run = lambda a, w=None, b=None: F.instance_norm(a, None, None, w, b, True, 0.1, 1e-3)
            yield make.case("instance_norm", inputs, run, eps=1e-3)
            for groups in (1, 2, 4):
                run = lambda a, w=None, b=None: F.group_norm(a, groups, w, b, 1e-3)
                yield make.case("group_norm", inputs, run, groups=groups, eps=1e-3)
        running = [make.uniform((4,), dtype=dtype), make.uniform((4,), 0.5, 2, dtype)]
        run = lambda a, w, b: F.batch_norm(a, *running, w, b, False, 0.1, 1e-3)
        yield make.case("batch_norm_eval", [x, *affine], run, eps=1e-3,
                        mean=running[0].tolist(), variance=running[1].tolist())
        run = lambda a: F.local_response_norm(a, 3, 0.5, 0.75, 1.5)
        yield make.case("local_response_norm", [x], run, size=3, k=1.5)
        weight = make.uniform((2, 3), 0.5, 2, dtype)
        run = lambda a, w=None: F.rms_norm(a, (2, 3), w, 1e-3)
        yield make.case("rms_norm", [x], run, dims=2, eps=1e-3)
        yield make.case("rms_norm", [x, weight], run, dims=2, eps=1e-3)


def elementwise_losses(make):
    """Losses of two tensors of one shape, away from their kinks."""
    for reduction in REDUCTIONS:
        x, target = make.uniform((3, 4)), make.uniform((3, 4))
        positive = make.uniform((3, 4), 0.2, 3)
        signs = make.source.integers((3, 4), 0, 2) * 2 - 1
        r = {"reduction": reduction}
        yield make.case("mse_loss_with", [x, target], lambda a, b: F.mse_loss(a, b, **r), **r)
        yield make.case("l1_loss", [x, target], lambda a, b: F.l1_loss(a, b, **r), **r)
        run = lambda a, b: F.smooth_l1_loss(a, b, beta=0.7, **r)
        yield make.case("smooth_l1_loss", [x, target], run, beta=0.7, **r)
        run = lambda a, b: F.huber_loss(a, b, delta=0.7, **r)
        yield make.case("huber_loss", [x, target], run, delta=0.7, **r)
        run = lambda a, b: F.kl_div(a, b, log_target=True, **r)
        yield make.case("kl_div", [x, target], run, log_target=True, **r)
        run = lambda a, b: F.kl_div(a, b, **r)
        yield make.case("kl_div", [x, positive], run, log_target=False, **r)
        for log_input, full in ((True, True), (False, False)):
            run = lambda a: F.poisson_nll_loss(a, target, log_input, full=full, eps=0.01, **r)
            inputs = [x if log_input else positive]
            yield make.case("poisson_nll_loss", inputs, run, log_input=log_input, full=full,
                            target=target.reshape(-1).tolist(), **r)
        variance = make.uniform((3, 4), 0.3, 2)
        run = lambda a, b, v: F.gaussian_nll_loss(a, b, v, full=True, **r)
        yield make.case("gaussian_nll_loss", [x, target, variance], run, **r)
        run = lambda a, s: F.soft_margin_loss(a, s, **r)
        yield make.case("soft_margin_loss", [x, signs], run, **r)
        run = lambda a, s: F.hinge_embedding_loss(a, s, margin=0.9, **r)
        yield make.case("hinge_embedding_loss", [x, signs], run, margin=0.9, **r)
        run = lambda a, b, s: F.margin_ranking_loss(a, b, s, margin=0.3, **r)
        yield make.case("margin_ranking_loss", [x, target, signs], run, margin=0.3, **r)
        probability, weight = make.uniform((3, 4), 0.1, 0.9), make.uniform((3, 4), 0.5, 2)
        run = lambda a, b: F.binary_cross_entropy(a, b, weight, **r)
        yield make.case("binary_cross_entropy", [probability, make.uniform((3, 4), 0, 1)], run,
                        weight=weight.reshape(-1).tolist(), **r)
        positive_weight = make.uniform((4,), 0.5, 2)
        run = lambda a, b: F.binary_cross_entropy_with_logits(
            a, b, weight, pos_weight=positive_weight, **r)
        yield make.case("binary_cross_entropy_with_logits", [x, make.uniform((3, 4), 0, 1)], run,
                        weight=weight.reshape(-1).tolist(),
                        pos_weight=positive_weight.tolist(), **r)


def class_losses(make):
    """Losses of classes: weights, ignored targets, smoothed labels, probabilities, images."""
    for reduction in REDUCTIONS:
        r = {"reduction": reduction}
        for shape in ((5, 4), (2, 4, 3)):
            x = make.uniform(shape)
            target = make.source.integers(shape[:1] + shape[2:], 0, 4)
            target.view(-1)[1] = 2
            weight = make.uniform((4,), 0.5, 2)
            for smoothing in (0.0, 0.2):
                run = lambda a, t: F.cross_entropy(
                    a, t, weight, ignore_index=2, label_smoothing=smoothing, **r)
                yield make.case("cross_entropy_with", [x, target], run, weight=weight.tolist(),
                                ignore_index=2, label_smoothing=smoothing, **r)
                run = lambda a, t: F.cross_entropy(a, t, weight, label_smoothing=smoothing, **r)
                yield make.case("cross_entropy_with", [x, make.uniform(shape, 0, 1)], run,
                                weight=weight.tolist(), ignore_index=-100,
                                label_smoothing=smoothing, **r)
            run = lambda a, t: F.nll_loss(a, t, weight, ignore_index=2, **r)
            yield make.case("nll_loss_with", [x, target], run, weight=weight.tolist(),
                            ignore_index=2, **r)
        x, weight = make.uniform((5, 4)), make.uniform((4,), 0.5, 2)
        run = lambda a, t: F.multilabel_soft_margin_loss(a, t, weight, **r)
        truth = make.source.integers((5, 4), 0, 2, torch.float32)
        yield make.case("multilabel_soft_margin_loss", [x, truth], run, weight=weight.tolist(), **r)
        a, b, c = (make.uniform((5, 4)) for _ in range(3))
        run = lambda a, b, c: F.triplet_margin_loss(a, b, c, margin=0.8, p=3, swap=True, **r)
        yield make.case("triplet_margin_loss", [a, b, c], run, margin=0.8, p=3, **r)
        signs = make.source.integers((5,), 0, 2) * 2 - 1
        run = lambda a, b, s: F.cosine_embedding_loss(a, b, s, margin=0.1, **r)
        yield make.case("cosine_embedding_loss", [a, b, signs], run, margin=0.1, **r)


def vectors(make):
    """Distances, angles, tables and bilinear transformations."""
    a, b = make.uniform((3, 4), dtype=F64), make.uniform((3, 4), dtype=F64)
    for p in (1.0, 2.0, 3.0):
        yield make.case("normalize", [a], lambda x: F.normalize(x, p, 1), p=p, dim=1)
        run = lambda x, y: F.pairwise_distance(x, y, p)
        yield make.case("pairwise_distance", [a, b], run, p=p)
        yield make.case("pdist", [a], lambda x: (x[[0, 0, 1]] - x[[1, 2, 2]]).norm(p, -1), p=p)
        run = lambda x, y: (x.unsqueeze(-2) - y.unsqueeze(-3)).norm(p, -1)
        yield make.case("cdist", [a, b], run, p=p)
    many = make.uniform((30, 4), dtype=F64)
    run = lambda x, y: (x.unsqueeze(-2) - y.unsqueeze(-3)).norm(2, -1)
    yield make.case("cdist", [many, b], run, p=2.0)
    for dim in (0, 1):
        run = lambda x, y: F.cosine_similarity(x, y, dim)
        yield make.case("cosine_similarity", [a, b], run, dim=dim)
    yield make.case("softmin", [a], lambda x: F.softmin(x, 1), dim=1)
    inputs = [make.uniform((5, 3)), make.uniform((5, 4)), make.uniform((2, 3, 4)), make.uniform((2,))]
    yield make.case("bilinear", inputs, F.bilinear)
    table, numbers = make.uniform((6, 3)), make.source.integers((2, 5), 0, 6)
    for frequency in (False, True):
        run = lambda t, n: F.embedding(n, t, 1, scale_grad_by_freq=frequency)
        yield make.case("embedding", [table, numbers], run, padding_idx=1, frequency=frequency)
    for mode in ("sum", "mean"):
        offsets = [0, 0, 3, 9]
        run = lambda t, n: F.embedding_bag(
            n.reshape(-1), t, torch.tensor(offsets), mode=mode, padding_idx=1)
        yield make.case("embedding_bag", [table, numbers], run, mode=mode, offsets=offsets)


def slopes_and_triplets(make):
    """Random slopes between equal bounds, their mean, and triplets by a distance of the program's own."""
    x = make.uniform((3, 5), dtype=F64)
    for upper, training in ((0.25, True), (0.75, False)):
        run = lambda a: F.rrelu(a, 0.25, upper, training)
        yield make.case("rrelu", [x], run, upper=upper, training=training)
    for reduction in REDUCTIONS:
        r = {"reduction": reduction}
        a, b, c = (make.uniform((5, 4)) for _ in range(3))
        distance = lambda x, y: (x - y).square().sum(-1)
        run = lambda a, b, c: F.triplet_margin_with_distance_loss(
            a, b, c, distance_function=distance, margin=0.8, swap=True, **r)
        yield make.case("triplet_margin_with_distance_loss", [a, b, c], run, margin=0.8, **r)


def functional():
    """All of them."""
    make = Gradients(70)
    for family in (norms, elementwise_losses, class_losses, vectors, slopes_and_triplets):
        yield from family(make)
