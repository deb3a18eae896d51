//! The special functions, and the operations on samples and matrices, that cases of the expected data
//! name.

use tensor::{DType, GradientSpacing, Tensor};

use crate::apply::Table;
use crate::expected::Case;

pub(crate) const SPECIAL: Table = &[
    ("bessel_j0", |_, x| x[0].bessel_j0()),
    ("bessel_j1", |_, x| x[0].bessel_j1()),
    ("bessel_y0", |_, x| x[0].bessel_y0()),
    ("bessel_y1", |_, x| x[0].bessel_y1()),
    ("i0", |_, x| x[0].i0()),
    ("i0e", |_, x| x[0].i0e()),
    ("i1", |_, x| x[0].i1()),
    ("i1e", |_, x| x[0].i1e()),
    ("modified_bessel_k0", |_, x| x[0].modified_bessel_k0()),
    ("modified_bessel_k1", |_, x| x[0].modified_bessel_k1()),
    ("scaled_modified_bessel_k0", |_, x| x[0].scaled_modified_bessel_k0()),
    ("scaled_modified_bessel_k1", |_, x| x[0].scaled_modified_bessel_k1()),
    ("spherical_bessel_j0", |_, x| x[0].spherical_bessel_j0()),
    ("airy_ai", |_, x| x[0].airy_ai()),
    ("erfcx", |_, x| x[0].erfcx()),
    ("log_ndtr", |_, x| x[0].log_ndtr()),
    ("ndtri", |_, x| x[0].ndtri()),
    ("polygamma", |case, x| x[0].polygamma(size(case, "n"))),
    ("zeta", |case, x| Tensor::scalar(case.float("s"), x[0].dtype())?.zeta(&x[0])),
    ("zeta_of", |_, x| x[0].zeta(&x[1])),
    ("igamma", |_, x| x[0].igamma(&x[1])),
    ("igammac", |_, x| x[0].igammac(&x[1])),
    ("mvlgamma", |case, x| x[0].mvlgamma(size(case, "p"))),
    ("frexp", |_, x| Ok(x[0].frexp()?.0)),
    ("frexp_exponent", |_, x| Ok(x[0].frexp()?.1)),
    ("angle", |_, x| x[0].angle()),
    ("trapezoid", |case, x| x[0].trapezoid(case.float("dx"), case.int("dim"))),
    ("cumulative_trapezoid", |case, x| {
        x[0].cumulative_trapezoid(case.float("dx"), case.int("dim"))
    }),
    ("trapezoid_points", |_, x| x[0].trapezoid(&x[1], -1)),
    ("cumulative_trapezoid_points", |_, x| x[0].cumulative_trapezoid(&x[1], -1)),
    ("gradient", |case, x| {
        let spacing = GradientSpacing::PerDim(&[case.float("spacing")]);
        Ok(x[0].gradient(spacing, 1, size(case, "edge"))?.remove(0))
    }),
    ("gradient_points", |case, x| {
        let points = list(case, "points", &x[0])?;
        let spacing = GradientSpacing::Coordinates(&[&points]);
        Ok(x[0].gradient(spacing, 1, size(case, "edge"))?.remove(0))
    }),
    ("cov", |_, x| x[0].cov(1, None, None)),
    ("cov_weighted", |case, x| {
        let times = list(case, "times", &x[0])?.to(DType::I64)?;
        x[0].cov(1, Some(&times), Some(&list(case, "weights", &x[0])?))
    }),
    ("corrcoef", |_, x| x[0].corrcoef()),
    ("combinations", |case, x| x[0].combinations(size(case, "r"), case.flag("repeats"))),
    ("cartesian_prod", |_, x| Tensor::cartesian_prod(x)),
    ("vander", |case, x| x[0].vander(Some(size(case, "n")))),
    ("renorm", |case, x| x[0].renorm(case.float("p"), 0, 1.5)),
    ("fftshift", |_, x| x[0].fftshift(())),
    ("ifftshift", |_, x| x[0].ifftshift(())),
    ("matrix_exp", |_, x| x[0].matrix_exp()),
    ("householder_product", |_, x| x[0].householder_product(&x[1])),
];

fn size(case: &Case, name: &str) -> usize {
    case.int(name).unsigned_abs()
}

/// A list of numbers as a vector beside `x`.
fn list(case: &Case, name: &str, x: &Tensor) -> tensor::Result<Tensor> {
    let numbers = case.arg(name).as_array().expect("a list");
    let numbers: Vec<f64> = numbers.iter().map(|item| item.as_f64().expect("a number")).collect();
    let count = numbers.len();
    Tensor::from_vec(numbers, [count], (x.dtype(), x.device()))
}
