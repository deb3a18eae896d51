//! Positions where several answers are right, because elements tie.

use super::wrong;
use crate::failure::CaseFailure;
use crate::folder::{HostArray, HostNumbers, WrittenValue};

/// Checks that positions pick the same elements of the input along a dimension as the expected ones
/// do, and with `distinct` none of them twice.
///
/// # Errors
/// They do not.
pub(super) fn check(
    what: &str,
    got: &HostArray,
    want: &HostArray,
    check: &WrittenValue,
    input: &HostArray,
) -> Result<(), CaseFailure> {
    let dims = input.shape.len().max(1);
    let dim = check.get("dim").and_then(WrittenValue::integer).unwrap_or(0);
    let dim = if dim < 0 { dim + dims as i64 } else { dim } as usize;
    let shape = if input.shape.is_empty() { vec![1] } else { input.shape.clone() };
    let (HostNumbers::Whole(got), HostNumbers::Whole(want)) = (&got.numbers, &want.numbers) else {
        return wrong(format!("{what}: positions are integers"));
    };
    let size = shape[dim];
    let inner: usize = shape[dim + 1..].iter().product();
    let rows = shape[..dim].iter().product::<usize>() * inner;
    if got.iter().any(|&at| at < 0 || at as usize >= size) {
        return wrong(format!("{what}: an index out of range"));
    }
    let elements = input.numbers.to_f64();
    let count = got.len().checked_div(rows).unwrap_or(0);
    for row in 0..rows {
        let (outer, inside) = (row / inner, row % inner);
        let place = |pick: usize| (outer * count + pick) * inner + inside;
        let element = |at: i64| elements[(outer * size + at as usize) * inner + inside];
        let mut seen: Vec<i64> = Vec::new();
        for pick in 0..count {
            let (own, theirs) = (element(got[place(pick)]), element(want[place(pick)]));
            if own != theirs && !(own.is_nan() && theirs.is_nan()) {
                return wrong(format!("{what}: picks other elements"));
            }
            seen.push(got[place(pick)]);
        }
        seen.sort_unstable();
        let distinct = check.get("distinct") == Some(&WrittenValue::Truth(true));
        if distinct && seen.windows(2).any(|pair| pair[0] == pair[1]) {
            return wrong(format!("{what}: picks an element twice"));
        }
    }
    Ok(())
}
