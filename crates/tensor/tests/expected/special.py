"""Special functions, samples of functions, and decompositions of matrices: values, gradients, and the
gradients of these."""

import torch

from cases import Source, case
from gradients import F64, Gradients

F32 = torch.float32
NAN, INF = float("nan"), float("inf")
S = torch.special

AROUND_ZERO = [-4.5, -1.25, 0.4, 2.2, 4.9, 11.5]
POSITIVE = [0.1, 0.75, 1.9, 2.3, 4.8, 11.5]
OSCILLATING = [-31.0, -5.1, -2.2, -1.25, 0.4, 2.2, 4.9, 8.0, 25.5]
OSCILLATING_POSITIVE = [0.1, 0.75, 1.9, 2.3, 4.9, 5.1, 8.0, 25.5, 31.0]
SMOOTH = {
    "bessel_j0": OSCILLATING, "bessel_j1": OSCILLATING,
    "bessel_y0": OSCILLATING_POSITIVE, "bessel_y1": OSCILLATING_POSITIVE,
    "i0": AROUND_ZERO, "i0e": AROUND_ZERO, "i1": AROUND_ZERO, "i1e": AROUND_ZERO,
    "modified_bessel_k0": POSITIVE, "modified_bessel_k1": POSITIVE,
    "erfcx": [-4.0, -0.5, 0.25, 3.0, 24.0, 26.0], "log_ndtr": [-5.0, -2.0, -0.5, 0.75, 3.0],
    "ndtri": [1e-6, 0.001, 0.2, 0.5, 0.9, 0.9999],
}
CONSTANT = {
    "scaled_modified_bessel_k0": POSITIVE, "scaled_modified_bessel_k1": POSITIVE,
    "spherical_bessel_j0": AROUND_ZERO + [0.0, INF], "airy_ai": [-7.5, -2.1, -0.5, 0.0, 1.25, 2.0, 2.5, 9.0, 104.0, INF],
}
EDGES = [0.0, INF, -INF, NAN]


def special():
    """With gradients: special functions of one number, and what has parameters."""
    make = Gradients(60)
    for dtype in (F32, F64):
        for name, numbers in SMOOTH.items():
            x = torch.tensor(numbers, dtype=dtype)
            yield make.case(name, [x], getattr(S, name))
        x = torch.tensor([-3.3, -0.7, 0.2, 1.0, 4.5, 20.0], dtype=dtype)
        for n in range(4):
            yield make.case("polygamma", [x], lambda a: torch.polygamma(n, a), n=n)
        for s in (2.0, 3.0, 40.0):
            yield make.case("zeta", [x], lambda a: S.zeta(s, a), s=s)
        x = torch.tensor([2.2, 3.0, 7.5], dtype=dtype)
        yield make.case("mvlgamma", [x], lambda a: torch.mvlgamma(a, 3), p=3)
        x = torch.tensor([8.0, -0.3, 1e-3, 5e4], dtype=dtype)
        yield make.case("frexp", [x], lambda a: torch.frexp(a)[0])
        yield make.case("angle", [torch.tensor([-1.5, 2.0], dtype=dtype)], torch.angle)
    yield from of_samples(make)
    yield from of_matrices(make)


def of_samples(make):
    """Integrals, slopes, covariances, choices, powers, norms."""
    y, points = make.uniform((3, 5)), torch.tensor([0.0, 0.5, 1.75, 2.0, 4.0])
    for dim in (0, 1):
        run = lambda a: torch.trapezoid(a, dx=0.5, dim=dim)
        yield make.case("trapezoid", [y], run, dx=0.5, dim=dim)
        run = lambda a: torch.cumulative_trapezoid(a, dx=0.5, dim=dim)
        yield make.case("cumulative_trapezoid", [y], run, dx=0.5, dim=dim)
    yield make.case("trapezoid_points", [y, points], lambda a, x: torch.trapezoid(a, x))
    run = lambda a, x: torch.cumulative_trapezoid(a, x)
    yield make.case("cumulative_trapezoid_points", [y, points], run)
    for edge in (1, 2):
        run = lambda a: torch.gradient(a, spacing=0.5, dim=1, edge_order=edge)[0]
        yield make.case("gradient", [y], run, spacing=0.5, edge=edge)
        run = lambda a: torch.gradient(a, spacing=(points,), dim=1, edge_order=edge)[0]
        yield make.case("gradient_points", [y], run, points=points.tolist(), edge=edge)
    yield make.case("cov", [y], torch.cov)
    yield make.case("corrcoef", [y], torch.corrcoef)
    times, weights = torch.tensor([1, 2, 0, 3, 1]), torch.tensor([0.5, 1.0, 2.0, 0.25, 1.5])
    run = lambda a: torch.cov(a, correction=1, fweights=times, aweights=weights)
    yield make.case("cov_weighted", [y], run, times=times.tolist(), weights=weights.tolist())
    x = make.uniform((4,))
    yield make.case("combinations", [x], lambda a: torch.combinations(a, 2), r=2, repeats=False)
    run = lambda a: torch.combinations(a, 3, with_replacement=True)
    yield make.case("combinations", [x], run, r=3, repeats=True)
    parts = [make.uniform((n,)) for n in (2, 3)]
    yield make.case("cartesian_prod", parts, torch.cartesian_prod)
    yield make.case("vander", [x], lambda a: torch.linalg.vander(a, N=3), n=3)
    x = make.uniform((3, 2, 2))
    for p in (1.0, 2.0):
        yield make.case("renorm", [x], lambda a: torch.renorm(a, p, 0, 1.5), p=p)
    for name in ("fftshift", "ifftshift"):
        yield make.case(name, [make.uniform((3, 4))], getattr(torch.fft, name))


def of_matrices(make):
    """What needs no decomposition."""
    for dtype, scale in ((F32, 1), (F64, 4)):
        x = make.uniform((2, 3, 3), dtype=dtype) * scale
        yield make.case("matrix_exp", [x], torch.linalg.matrix_exp)
    v, tau = make.uniform((2, 4, 3), dtype=F64), make.uniform((2, 2), dtype=F64)
    yield make.case("householder_product", [v, tau], torch.linalg.householder_product)


def special_values():
    """Without gradients: constants for them, edges, integers, halves."""
    for name, numbers in {**SMOOTH, **CONSTANT}.items():
        function = getattr(S, name)
        for dtype in (F32, F64):
            x = torch.tensor(EDGES if name in SMOOTH else numbers, dtype=dtype)
            if name == "ndtri":
                x = torch.tensor([0.0, 1.0, -0.5, 1.5, NAN], dtype=dtype)
            yield case(name, [x], output=function(x))
        x = torch.tensor([0, 1, 2, 3])
        yield case(name, [x], output=function(x))
    for name in ("i0", "i0e", "i1", "i1e"):
        x = torch.tensor([-0.5, 3.0, 9.0]).to(torch.float16)
        yield case(name, [x], output=getattr(S, name)(x))
    s, q = torch.tensor([1.0, 0.5, 2.0, 2.5, 3.0]), torch.tensor([[0.0], [-1.0], [-1.5], [2.0]])
    yield case("zeta_of", [s, q], output=S.zeta(s, q))
    for dtype in (F32, F64):
        # Where the operands are near each other and above 20, PyTorch is off by up to 3e-10.
        a = torch.tensor([0.0, 0.3, 1.0, 4.5, 30.0, 200.0, INF, -1.0], dtype=dtype)
        x = torch.tensor([[0.0], [0.01], [0.9], [3.0], [12.0], [205.0], [1e6], [INF], [-0.5]], dtype=dtype)
        yield case("igamma", [a, x], output=torch.igamma(a, x))
        yield case("igammac", [a, x], output=torch.igammac(a, x))
    x = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1e-40, -3e-45, 3e38])
    yield case("frexp", [x], output=torch.frexp(x)[0])
    yield case("frexp_exponent", [x], output=torch.frexp(x)[1])


def matrices(source, *shape, dtype=F64):
    """Matrices that are far from singular ones."""
    x = source.uniform(shape, dtype=dtype)
    return x + 3 * torch.eye(shape[-2], shape[-1], dtype=dtype)


def definite(x):
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


def linalg():
    """Decompositions, in ways that do not depend on the signs of vectors."""
    make = Gradients(61)
    square, other = matrices(make, 2, 3, 3), matrices(make, 3, 3, dtype=F32)
    right, vector = make.uniform((2, 3, 2), dtype=F64), make.uniform((3,), dtype=F32)
    L = torch.linalg
    for x in (square, other):
        for upper in (False, True):
            run = lambda a: L.cholesky(definite(a), upper=upper)
            yield make.case("cholesky", [x], run, upper=upper)
        for name in ("inv", "det", "logdet_of_square", "slogdet"):
            runs = {
                "inv": L.inv, "det": L.det, "slogdet": lambda a: L.slogdet(a)[1],
                "logdet_of_square": lambda a: torch.logdet(a @ a.mT),
            }
            yield make.case(name, [x], runs[name])
        yield make.case("svdvals", [x], L.svdvals)
        yield make.case("eigvalsh", [x], lambda a: L.eigvalsh(a + a.mT))
        yield make.case("pinv", [x[..., :2]], L.pinv)
    yield make.case("det", [torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=F64)], L.det)
    yield make.case("solve", [square, right], L.solve, left=True)
    yield make.case("solve", [square, right.mT], lambda a, b: L.solve(a, b, left=False), left=False)
    yield make.case("solve", [other, vector], L.solve, left=True)
    for upper in (False, True):
        for unit in (False, True):
            run = lambda a, b: L.solve_triangular(a, b, upper=upper, unitriangular=unit)
            yield make.case("solve_triangular", [square, right], run, upper=upper, unit=unit)
        run = lambda b, a: torch.cholesky_solve(b, a, upper=upper)
        yield make.case("cholesky_solve", [right, square.triu() if upper else square.tril()], run,
                        upper=upper)
        run = lambda a: torch.cholesky_inverse(a, upper=upper)
        yield make.case("cholesky_inverse", [square.triu() if upper else square.tril()], run,
                        upper=upper)
    for shape in ((3, 3), (2, 4), (4, 2)):
        x = matrices(make, *shape)
        yield make.case("lu_l", [x], lambda a: L.lu(a)[1])
        yield make.case("lu_u", [x], lambda a: L.lu(a)[2])
        # Of Q and R what does not depend on signs.
        k = min(shape)
        yield make.case("qr_square", [x], lambda a: L.qr(a)[1].square())
        run = lambda a: (lambda q: q[:, :k - 1] @ q[:, :k - 1].mT)(L.qr(a)[0])
        yield make.case("qr_projection", [x], run)
        run = lambda a: (lambda u, s, v: u[:, :1] @ v[:1] * s[0])(*L.svd(a, False))
        yield make.case("svd_projection", [x], run)
        b = make.uniform((shape[0], 2), dtype=F64)
        yield make.case("lstsq", [x, b], lambda a, c: L.lstsq(a, c, driver="gelsd").solution)
    project = lambda l, v: v[..., :1] @ v[..., :1].mT * l[..., :1, None]
    yield make.case("eigh_projection", [square], lambda a: project(*L.eigh(a + a.mT)))
    for adjoint in (False, True):
        lu, pivots = L.lu_factor(square)
        run = lambda a, b: L.lu_solve(a, pivots, b, adjoint=adjoint)
        yield make.case("lu_solve", [lu, right], run, pivots=pivots.reshape(-1).tolist(), adjoint=adjoint)
    for order in (2, -2, "nuc"):
        yield make.case("matrix_norm", [square], lambda a: L.matrix_norm(a, order), order=str(order))
    for p in (2, -2):
        yield make.case("cond", [square], lambda a: L.cond(a, p), order=str(p))
    x = make.uniform((6, 2, 3), dtype=F64) + torch.eye(6, dtype=F64).reshape(6, 2, 3) * 3
    yield make.case("tensorinv", [x], lambda a: L.tensorinv(a, ind=1))
    yield make.case("tensorsolve", [x, make.uniform((6,), dtype=F64)], L.tensorsolve)
