//! Comparison of all elements, within a tolerance.

use super::wrong;
use crate::failure::CaseFailure;
use crate::folder::{HostArray, HostNumbers};

/// Compares dtypes, shapes and elements: `|got - want| <= atol + rtol * |want|` for floats, equality
/// for others. NaN equals NaN.
///
/// # Errors
/// They differ.
pub(crate) fn same(
    what: &str,
    got: &HostArray,
    want: &HostArray,
    rtol: f64,
    atol: f64,
) -> Result<(), CaseFailure> {
    if got.dtype != want.dtype {
        return wrong(format!("{what}: dtype {}, not {}", got.dtype, want.dtype));
    }
    if got.shape != want.shape {
        return wrong(format!("{what}: shape {:?}, not {:?}", got.shape, want.shape));
    }
    let differences = match (&got.numbers, &want.numbers) {
        (HostNumbers::Floating(got), HostNumbers::Floating(want)) => {
            differing(got, want, |g, w| close(g, w, rtol, atol), |g, w| (g - w).abs())
        }
        (HostNumbers::Whole(got), HostNumbers::Whole(want)) => {
            differing(got, want, |g, w| g == w, |g, w| g.abs_diff(w) as f64)
        }
        _ => Some("another kind of numbers".to_owned()),
    };
    match differences {
        None => Ok(()),
        Some(differences) => wrong(format!("{what}: {differences}")),
    }
}

fn close(got: f64, want: f64, rtol: f64, atol: f64) -> bool {
    got == want
        || got.is_nan() && want.is_nan()
        || want.is_finite() && (got - want).abs() <= atol + rtol * want.abs()
}

/// The number of elements that differ and by how much, with the first of them; `None` if none does.
fn differing<T: Copy + std::fmt::Debug>(
    got: &[T],
    want: &[T],
    agree: impl Fn(T, T) -> bool,
    distance: impl Fn(T, T) -> f64,
) -> Option<String> {
    let pairs = got.iter().zip(want).map(|(&got, &want)| (got, want));
    let differing: Vec<(T, T)> = pairs.filter(|&(got, want)| !agree(got, want)).collect();
    let &(first, wanted) = differing.first()?;
    let most = differing.iter().map(|&(got, want)| distance(got, want)).fold(0.0, f64::max);
    Some(format!(
        "{} of {} elements differ, by up to {most:.3e}; the first is {first:?}, not {wanted:?}",
        differing.len(),
        want.len()
    ))
}
