//! Type promotion: which dtype an operation on operands of different dtypes works in.

use crate::DType;
use crate::default::default_dtype;

/// An operand's dtype, with the category that decides how much it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A tensor with at least one dimension.
    Dimensioned(DType),
    /// A tensor without dimensions.
    ZeroDim(DType),
    /// A Rust number. A float counts as the default dtype.
    Scalar(DType),
}

/// The dtype that operands of these dtypes are brought to, by PyTorch's rule: tensors with
/// dimensions decide, and an operand of a lower category counts only where it is of a higher kind
/// (truth value < integer < float) than they are. No operand at all gives the default dtype.
pub(crate) fn result_type(operands: &[Typed]) -> DType {
    let mut dimensioned = None;
    let mut zero_dim = None;
    let mut scalar = None;
    for operand in operands {
        let (category, dtype) = match *operand {
            Typed::Dimensioned(dtype) => (&mut dimensioned, dtype),
            Typed::ZeroDim(dtype) => (&mut zero_dim, dtype),
            Typed::Scalar(dtype) if dtype.is_float() => (&mut scalar, default_dtype()),
            Typed::Scalar(dtype) => (&mut scalar, dtype),
        };
        *category = Some(category.map_or(dtype, |so_far| promote(so_far, dtype)));
    }
    combine(dimensioned, combine(zero_dim, scalar)).unwrap_or_else(default_dtype)
}

/// The smallest dtype that holds both, where any float holds every integer.
pub(crate) fn promote(a: DType, b: DType) -> DType {
    if rank(a) >= rank(b) { a } else { b }
}

/// The dtypes of this crate are totally ordered under promotion, since only one is unsigned.
fn rank(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 => 1,
        DType::I64 => 2,
        DType::F16 => 3,
        DType::F32 => 4,
        DType::F64 => 5,
    }
}

/// `higher` decides, unless `lower` is of a higher kind.
fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) if kind(lower) > kind(higher) => Some(promote(higher, lower)),
        (higher, lower) => higher.or(lower),
    }
}

fn kind(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 | DType::I64 => 1,
        DType::F16 | DType::F32 | DType::F64 => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Typed::{Dimensioned, Scalar, ZeroDim};

    #[test]
    fn a_lower_category_counts_only_where_its_kind_is_higher() {
        assert_eq!(result_type(&[Dimensioned(DType::F16), ZeroDim(DType::F64)]), DType::F16);
        assert_eq!(result_type(&[Dimensioned(DType::U8), ZeroDim(DType::I64)]), DType::U8);
        assert_eq!(result_type(&[Dimensioned(DType::U8), ZeroDim(DType::F64)]), DType::F64);
        assert_eq!(result_type(&[Dimensioned(DType::I64), Scalar(DType::F64)]), DType::F32);
    }

    #[test]
    fn within_a_category_the_wider_dtype_wins() {
        assert_eq!(result_type(&[Dimensioned(DType::I64), Dimensioned(DType::F16)]), DType::F16);
        assert_eq!(result_type(&[Dimensioned(DType::F32), Dimensioned(DType::F64)]), DType::F64);
        assert_eq!(result_type(&[ZeroDim(DType::Bool), Scalar(DType::I64)]), DType::I64);
    }

    #[test]
    fn nothing_to_decide_by_gives_the_default() {
        assert_eq!(result_type(&[]), DType::F32);
    }
}
