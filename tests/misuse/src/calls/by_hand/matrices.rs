//! Special functions with parameters, samples of functions, and decompositions of matrices.

use tensor::{
    DType, Device, GradientSpacing, LeastSquares, MatrixNorm, QrMode, RankTolerance, Result,
    SignalWindow, Tensor,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "tensor::Tensor::zeta" => |d| {
        let (tensor, other) = (d.tensor()?, d.operand()?);
        d.look(tensor.zeta(other.get()).ok());
        Some(())
    };
    "tensor::Tensor::frexp" => |d| {
        let (mantissa, exponent) = d.tensor()?.frexp().ok()?;
        d.look(Some(mantissa));
        d.look(Some(exponent));
        Some(())
    };
    "tensor::Tensor::trapezoid", "tensor::Tensor::cumulative_trapezoid" => |d| {
        let (tensor, spacing, dim) = (d.tensor()?, d.operand()?, d.dim()?);
        d.look(tensor.trapezoid(spacing.get(), dim).ok());
        d.look(tensor.cumulative_trapezoid(spacing.get(), dim).ok());
        Some(())
    };
    "tensor::Tensor::gradient" => |d| {
        let (tensor, dims, edge_order) = (d.tensor()?, d.dims()?, d.size()?);
        let (points, distance) = (d.owned_tensors()?, d.number()?);
        let points: Vec<&Tensor> = points.iter().collect();
        let distances = vec![distance; d.rng().below(5)];
        let spacing = match d.rng().below(3) {
            0 => GradientSpacing::Uniform(distance),
            1 => GradientSpacing::PerDim(&distances),
            _ => GradientSpacing::Coordinates(&points),
        };
        d.look_at_all(tensor.gradient(spacing, dims, edge_order));
        Some(())
    };
    "tensor::Tensor::cov", "tensor::Tensor::corrcoef" => |d| {
        let (tensor, correction) = (d.tensor()?, d.integer()?);
        let (times, weights) = (d.index()?, d.tensor()?);
        let (times, weights) = (d.flag()?.then_some(&times), d.flag()?.then_some(&weights));
        d.look(tensor.cov(correction, times, weights).ok());
        d.look(tensor.corrcoef().ok());
        Some(())
    };
    "tensor::Tensor::cartesian_prod", "tensor::Tensor::combinations" => |d| {
        let (tensors, tensor) = (d.owned_tensors()?, d.tensor()?);
        d.look(Tensor::cartesian_prod(&tensors).ok());
        let (r, repeats) = (d.size()?, d.flag()?);
        d.look(tensor.combinations(r, repeats).ok());
        Some(())
    };
    "tensor::Tensor::histogram", "tensor::Tensor::histogram_with_edges" => |d| {
        let (tensor, edges, weight) = (d.tensor()?, d.tensor()?, d.tensor()?);
        let (weight, density) = (d.flag()?.then_some(&weight), d.flag()?);
        let (bins, range) = (d.size()?, (d.number()?, d.number()?));
        let range = d.flag()?.then_some(range);
        both(d, tensor.histogram(bins, range, weight, density));
        both(d, tensor.histogram_with_edges(&edges, weight, density));
        Some(())
    };
    "tensor::Tensor::renorm", "tensor::Tensor::renorm_" => |d| {
        let (tensor, p, dim, maxnorm) = (d.tensor()?, d.number()?, d.dim()?, d.number()?);
        d.look(tensor.renorm(p, dim, maxnorm).ok());
        d.look(tensor.renorm_(p, dim, maxnorm).ok());
        Some(())
    };
    "tensor::Tensor::unravel_index", "tensor::Tensor::vander" => |d| {
        let (tensor, shape, n) = (d.tensor()?, d.shape()?, d.maybe_size()?);
        d.look_at_all(tensor.unravel_index(shape));
        d.look(tensor.vander(n).ok());
        Some(())
    };
    "tensor::Tensor::window" => |d| {
        let (length, symmetric, options) = (d.small_size()? as usize, d.flag()?, d.options()?);
        let (number, numbers) = (d.number()?, [d.number()?, d.number()?]);
        let window = match d.rng().below(6) {
            0 => SignalWindow::Exponential { center: d.flag()?.then_some(number), tau: numbers[0] },
            1 => SignalWindow::Gaussian { std: number },
            2 => SignalWindow::GeneralCosine(&numbers[..d.rng().below(3)]),
            3 => SignalWindow::GeneralHamming(number),
            4 => SignalWindow::Kaiser { beta: number },
            _ => SignalWindow::Bartlett,
        };
        d.look(Tensor::window(window, length, symmetric, options).ok());
        Some(())
    };
    "tensor::Tensor::cholesky", "tensor::Tensor::cholesky_ex", "tensor::Tensor::cholesky_solve",
    "tensor::Tensor::cholesky_inverse", "tensor::Tensor::solve_triangular" => |d| {
        let (a, b, upper) = (matrices(d)?, matrices(d)?, d.flag()?);
        both_ways(d, a.cholesky(upper));
        both(d, a.cholesky_ex(upper));
        both_ways(d, b.cholesky_solve(&a, upper));
        both_ways(d, a.cholesky_inverse(upper));
        let (left, unit) = (d.flag()?, d.flag()?);
        both_ways(d, a.solve_triangular(&b, upper, left, unit));
        Some(())
    };
    "tensor::Tensor::inv", "tensor::Tensor::inv_ex", "tensor::Tensor::solve",
    "tensor::Tensor::solve_ex", "tensor::Tensor::lstsq" => |d| {
        let (a, b, left) = (matrices(d)?, matrices(d)?, d.flag()?);
        both_ways(d, a.inv());
        both(d, a.inv_ex());
        both_ways(d, a.solve(&b, left));
        both(d, a.solve_ex(&b, left));
        let rcond = d.number()?;
        let rcond = d.flag()?.then_some(rcond);
        let LeastSquares { solution, residuals, rank, singular_values } = a.lstsq(&b, rcond).ok()?;
        for part in [solution, residuals, rank, singular_values] {
            both_ways(d, Ok(part));
        }
        Some(())
    };
    "tensor::Tensor::lu", "tensor::Tensor::lu_factor", "tensor::Tensor::lu_solve" => |d| {
        let (a, b, pivots) = (matrices(d)?, matrices(d)?, d.tensor()?);
        let (left, adjoint) = (d.flag()?, d.flag()?);
        d.look(a.lu_solve(&pivots, &b, left, adjoint).ok());
        let (packed, pivots) = a.lu_factor().ok()?;
        both_ways(d, packed.lu_solve(&pivots, &b, left, adjoint));
        let (p, l, u) = a.lu().ok()?;
        for part in [p, l, u] {
            both_ways(d, Ok(part));
        }
        Some(())
    };
    "tensor::Tensor::det", "tensor::Tensor::slogdet", "tensor::Tensor::logdet",
    "tensor::Tensor::tensorinv", "tensor::Tensor::tensorsolve" => |d| {
        let (a, b) = (matrices(d)?, matrices(d)?);
        both_ways(d, a.det());
        both(d, a.slogdet());
        both_ways(d, a.logdet());
        let (ind, dims) = (d.size()?, d.dims()?);
        both_ways(d, a.tensorinv(ind));
        both_ways(d, a.tensorsolve(&b, dims));
        Some(())
    };
    "tensor::Tensor::qr", "tensor::Tensor::eigh", "tensor::Tensor::eigvalsh", "tensor::Tensor::svd",
    "tensor::Tensor::svdvals" => |d| {
        let a = matrices(d)?;
        let mode = if d.flag()? { QrMode::Reduced } else { QrMode::Complete };
        both(d, a.qr(mode));
        let upper = d.flag()?;
        both(d, a.eigh(upper));
        both_ways(d, a.eigvalsh(upper));
        both_ways(d, a.svdvals());
        let (u, s, vh) = a.svd(upper).ok()?;
        for part in [u, s, vh] {
            both_ways(d, Ok(part));
        }
        Some(())
    };
    "tensor::Tensor::pinv", "tensor::Tensor::matrix_rank", "tensor::Tensor::cond" => |d| {
        let (a, atol, rtol, hermitian) = (matrices(d)?, d.operand()?, d.operand()?, d.flag()?);
        let tolerance = RankTolerance {
            atol: d.flag()?.then_some(atol.get()),
            rtol: d.flag()?.then_some(rtol.get()),
        };
        both_ways(d, a.pinv(tolerance, hermitian));
        d.look(a.matrix_rank(tolerance, hermitian).ok());
        let order = match d.rng().below(4) {
            0 => MatrixNorm::Two,
            1 => MatrixNorm::NegTwo,
            2 => MatrixNorm::Nuclear,
            _ => MatrixNorm::One,
        };
        both_ways(d, a.cond(order));
        both_ways(d, a.matrix_norm(order, [-2, -1], false));
        Some(())
    };
    "tensor::Tensor::matrix_exp", "tensor::Tensor::householder_product" => |d| {
        let (a, tau) = (matrices(d)?, d.tensor()?);
        both_ways(d, a.matrix_exp());
        both_ways(d, a.householder_product(&tau));
        Some(())
    };
};

/// Mostly square matrices on the CPU of a dtype that they are decomposed in, with gradients; sometimes
/// any tensor.
fn matrices(d: &mut Draw) -> Option<Tensor> {
    if d.rng().one_in(8) {
        return d.tensor();
    }
    let (rows, columns, count) = (d.rng().below(5), d.rng().below(5), d.rng().below(3));
    let columns = if d.rng().one_in(3) { columns } else { rows };
    let dtype = if d.flag()? { DType::F32 } else { DType::F64 };
    let matrices = match d.rng().below(4) {
        0 => Tensor::zeros([count, rows, columns], (dtype, Device::Cpu)),
        1 => Tensor::full([count, rows, columns], d.number()?, (dtype, Device::Cpu)),
        2 => Tensor::randn([rows, columns], (dtype, Device::Cpu)),
        _ => Tensor::randn([count, columns, rows], (dtype, Device::Cpu))
            .and_then(|turned| turned.transpose(-2, -1)),
    };
    let matrices = matrices.ok()?;
    if d.flag()? { matrices.requires_grad_(true).ok() } else { Some(matrices) }
}

/// Looks at a result, and computes its gradient.
fn both_ways(d: &mut Draw, result: Result<Tensor>) {
    let Ok(result) = result else { return };
    if result.requires_grad() {
        let _ = result.sum(()).and_then(|sum| sum.backward());
    }
    d.look(Some(result));
}

fn both(d: &mut Draw, result: Result<(Tensor, Tensor)>) {
    let Ok((first, second)) = result else { return };
    both_ways(d, Ok(first));
    both_ways(d, Ok(second));
}
