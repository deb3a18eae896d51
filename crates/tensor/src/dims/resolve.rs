//! The dimensions of a tensor that those of a program mean.

use smallvec::SmallVec;

use crate::{Error, Result};

/// The dimension that `dim` means in a tensor of `dims` dimensions: negative ones count from the
/// end, and a 0-dimensional tensor accepts 0 and -1, as in PyTorch.
///
/// # Errors
/// There is no such dimension.
pub(crate) fn resolve_dim(op: &'static str, dim: isize, dims: usize) -> Result<usize> {
    let count = dims.max(1) as isize;
    let resolved = if dim < 0 { dim + count } else { dim };
    if (0..count).contains(&resolved) {
        Ok(resolved as usize)
    } else {
        Err(Error::DimOutOfRange { op, dim, dims })
    }
}

/// A dense tensor of these sizes seen around a dimension: the product of the sizes before it, its own,
/// and the product of those after it. A 0-dimensional tensor has one element in all three.
pub(crate) fn around(sizes: &[usize], dim: usize) -> [usize; 3] {
    let own = sizes.get(dim).copied().unwrap_or(1);
    [sizes.iter().take(dim).product(), own, sizes.iter().skip(dim + 1).product()]
}

/// Checks that two resolved dimensions of one tensor are not the same.
///
/// # Errors
/// They are.
pub(crate) fn different_dims(op: &'static str, dim1: usize, dim2: usize) -> Result<()> {
    if dim1 != dim2 {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        op,
        argument: "dim2",
        value: dim2.to_string(),
        why: "the two dimensions must differ",
    })
}

/// The dimensions that `dims` mean, in ascending order; an empty list means all of them.
///
/// # Errors
/// One is out of range, or given twice.
pub(crate) fn resolve_dims(
    op: &'static str,
    dims: &[isize],
    count: usize,
) -> Result<SmallVec<[usize; 4]>> {
    if dims.is_empty() {
        return Ok((0..count).collect());
    }
    let mut resolved = SmallVec::with_capacity(dims.len());
    for &dim in dims {
        let own = resolve_dim(op, dim, count)?;
        if resolved.contains(&own) {
            return Err(Error::InvalidArgument {
                op,
                argument: "dims",
                value: format!("{dims:?}"),
                why: "a dimension may be given only once",
            });
        }
        // A 0-dimensional tensor has no dimension to work on, though it accepts the number.
        if own < count {
            resolved.push(own);
        }
    }
    resolved.sort_unstable();
    Ok(resolved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tensor_is_seen_around_any_of_its_dimensions() {
        assert_eq!(
            [0, 1, 3].map(|dim| around(&[2, 3, 5, 7], dim)),
            [[1, 2, 105], [2, 3, 35], [30, 7, 1]]
        );
        assert_eq!(around(&[], 0), [1, 1, 1]);
    }

    #[test]
    fn negative_dimensions_count_from_the_end() {
        assert_eq!(resolve_dim("t", -1, 3).unwrap(), 2);
        assert_eq!(resolve_dim("t", -1, 0).unwrap(), 0);
        assert!(resolve_dim("t", 3, 3).is_err());
        assert!(resolve_dims("t", &[0, -2], 2).is_err(), "given twice");
    }
}
