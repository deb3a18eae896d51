//! Samples of functions: their slopes, integrals, statistics, and windows.

use tensor::{GradientSpacing, SignalWindow, Tensor};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[AdapterRow] = &[
    row("trapezoid|trapz", "y, x, *, dim=-1", |c| trapezoid(c, "x")),
    row("trapezoid|trapz", "y, *, dx=1, dim=-1", |c| trapezoid(c, "dx")),
    row("cumulative_trapezoid", "y, x, *, dim=-1", |c| cumulative_trapezoid(c, "x")),
    row("cumulative_trapezoid", "y, *, dx=1, dim=-1", |c| cumulative_trapezoid(c, "dx")),
    row("gradient", "x, *, spacing=None, dim=None, edge_order=1", gradient),
    row("cov", "x, *, correction=1, fweights=None, aweights=None", |c| {
        give(c.x()?.cov(c.get("correction")?, c.get("fweights")?, c.get("aweights")?))
    }),
    row("corrcoef", "x", |c| give(c.x()?.corrcoef())),
    row("histogram", "x, bins, *, range, weight=None, density=False", |c| {
        let [least, greatest] = *c.get::<Vec<f64>>("range")? else {
            return Err(CaseFailure::Unsupported("a range of other than two".to_owned()));
        };
        let range = Some((least, greatest));
        give(c.x()?.histogram(c.get("bins")?, range, c.get("weight")?, c.get("density")?))
    }),
    row("histogram", "x, bins, *, weight=None, density=False", |c| match c.argument("bins")? {
        CaseArgument::Tensor(edges) => {
            give(c.x()?.histogram_with_edges(edges, c.get("weight")?, c.get("density")?))
        }
        _ => give(c.x()?.histogram(c.get("bins")?, None, c.get("weight")?, c.get("density")?)),
    }),
    row("renorm", "x, p, dim, maxnorm", |c| {
        give(c.x()?.renorm(c.get("p")?, c.get("dim")?, c.get("maxnorm")?))
    }),
    row("renorm_", "x, p, dim, maxnorm", |c| {
        give(c.x()?.renorm_(c.get("p")?, c.get("dim")?, c.get("maxnorm")?))
    }),
    row("cartesian_prod", "*tensors", |c| {
        give(Tensor::cartesian_prod(&c.get::<Vec<&Tensor>>("tensors")?))
    }),
    row("combinations", "x, r=2, with_replacement=False", |c| {
        give(c.x()?.combinations(c.get("r")?, c.get("with_replacement")?))
    }),
    row("fft.fftshift", "x, dim=None", |c| give(c.x()?.fftshift(&c.dims("dim")?))),
    row("fft.ifftshift", "x, dim=None", |c| give(c.x()?.ifftshift(&c.dims("dim")?))),
    row("linalg.vander", "x, *, N=None", |c| give(c.x()?.vander(c.get("N")?))),
    row("unravel_index", "x, shape", |c| give(c.x()?.unravel_index(c.get::<Vec<usize>>("shape")?))),
];

pub(super) static WINDOWS: &[AdapterRow] = &[
    row("signal.windows.bartlett", "M, *, sym=True, dtype=None", |c| {
        made(c, SignalWindow::Bartlett)
    }),
    row("signal.windows.blackman", "M, *, sym=True, dtype=None", |c| {
        made(c, SignalWindow::Blackman)
    }),
    row("signal.windows.cosine", "M, *, sym=True, dtype=None", |c| made(c, SignalWindow::Cosine)),
    row("signal.windows.hamming", "M, *, sym=True, dtype=None", |c| made(c, SignalWindow::Hamming)),
    row("signal.windows.hann", "M, *, sym=True, dtype=None", |c| made(c, SignalWindow::Hann)),
    row("signal.windows.nuttall", "M, *, sym=True, dtype=None", |c| made(c, SignalWindow::Nuttall)),
    row("signal.windows.exponential", "M, *, center=None, tau=1.0, sym=True, dtype=None", |c| {
        made(c, SignalWindow::Exponential { center: c.get("center")?, tau: c.get("tau")? })
    }),
    row("signal.windows.gaussian", "M, *, std=1.0, sym=True, dtype=None", |c| {
        made(c, SignalWindow::Gaussian { std: c.get("std")? })
    }),
    row("signal.windows.general_cosine", "M, *, a, sym=True, dtype=None", |c| {
        made(c, SignalWindow::GeneralCosine(&c.get::<Vec<f64>>("a")?))
    }),
    row("signal.windows.general_hamming", "M, *, alpha=0.54, sym=True, dtype=None", |c| {
        made(c, SignalWindow::GeneralHamming(c.get("alpha")?))
    }),
    row("signal.windows.kaiser", "M, *, beta=12.0, sym=True, dtype=None", |c| {
        made(c, SignalWindow::Kaiser { beta: c.get("beta")? })
    }),
];

fn made(c: &BoundCall, window: SignalWindow<'_>) -> CallOutcome {
    give(Tensor::window(window, c.get("M")?, c.get("sym")?, c.options()?))
}

fn trapezoid(c: &BoundCall, spacing: &str) -> CallOutcome {
    give(c.get::<&Tensor>("y")?.trapezoid(c.operand(spacing)?, c.get("dim")?))
}

fn cumulative_trapezoid(c: &BoundCall, spacing: &str) -> CallOutcome {
    give(c.get::<&Tensor>("y")?.cumulative_trapezoid(c.operand(spacing)?, c.get("dim")?))
}

fn gradient(c: &BoundCall) -> CallOutcome {
    let (x, dims, edge_order) = (c.x()?, c.dims("dim")?, c.get("edge_order")?);
    let spacing: &CaseArgument = c.get("spacing")?;
    match spacing {
        CaseArgument::None => give(x.gradient(GradientSpacing::Uniform(1.0), &dims, edge_order)),
        CaseArgument::List(items) if matches!(items.first(), Some(CaseArgument::Tensor(_))) => {
            let points: Vec<&Tensor> = c.get("spacing")?;
            give(x.gradient(GradientSpacing::Coordinates(&points), &dims, edge_order))
        }
        CaseArgument::List(_) => {
            let distances: Vec<f64> = c.get("spacing")?;
            give(x.gradient(GradientSpacing::PerDim(&distances), &dims, edge_order))
        }
        _ => give(x.gradient(GradientSpacing::Uniform(c.get("spacing")?), &dims, edge_order)),
    }
}
