//! Type promotion: the dtype that operands of different dtypes are brought to
//! (<https://docs.pytorch.org/docs/stable/tensor_attributes.html>, "type promotion").

use crate::DType;
use crate::default::default_dtype;

/// The dtype of an operand, with the priority that it has in type promotion: tensors with
/// dimensions before 0-dimensional ones, and those before numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A tensor with at least one dimension.
    Dimensioned(DType),
    /// A tensor without dimensions.
    ZeroDim(DType),
    /// A Rust number. A float counts as the default dtype.
    Scalar(DType),
}

/// The dtype that operands of these dtypes are brought to, by PyTorch's rule (`torch.result_type`):
/// tensors with dimensions decide, and an operand of a lower priority counts only where its dtype
/// is of a higher category (truth value < integer < float). Without operands it is the default
/// dtype.
pub(crate) fn result_type(operands: &[Typed]) -> DType {
    let mut dimensioned = None;
    let mut zero_dim = None;
    let mut scalar = None;
    for operand in operands {
        let (priority, dtype) = match *operand {
            Typed::Dimensioned(dtype) => (&mut dimensioned, dtype),
            Typed::ZeroDim(dtype) => (&mut zero_dim, dtype),
            Typed::Scalar(dtype) if dtype.is_float() => (&mut scalar, default_dtype()),
            Typed::Scalar(dtype) => (&mut scalar, dtype),
        };
        *priority = Some(priority.map_or(dtype, |so_far| promote(so_far, dtype)));
    }
    combine(dimensioned, combine(zero_dim, scalar)).unwrap_or_else(default_dtype)
}

/// The smallest dtype that both can be converted to without changing category
/// (`torch.promote_types`): any float counts as larger than every integer. Two dtypes of which
/// neither holds the other give the next larger one: `F16` and `BF16` give `F32`, `U8` and `I8` give
/// `I16`.
pub(crate) fn promote(a: DType, b: DType) -> DType {
    match (a, b) {
        (DType::F16, DType::BF16) | (DType::BF16, DType::F16) => DType::F32,
        (DType::U8, DType::I8) | (DType::I8, DType::U8) => DType::I16,
        _ if rank(a) >= rank(b) => a,
        _ => b,
    }
}

/// The order of dtypes under promotion, but for the two pairs of which neither holds the other.
fn rank(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        DType::U8 => 1,
        DType::I8 => 2,
        DType::I16 => 3,
        DType::I32 => 4,
        DType::I64 => 5,
        DType::F16 => 6,
        DType::BF16 => 7,
        DType::F32 => 8,
        DType::F64 => 9,
    }
}

/// The dtype of the operands of a higher priority, unless the others are of a higher category.
fn combine(higher: Option<DType>, lower: Option<DType>) -> Option<DType> {
    match (higher, lower) {
        (Some(higher), Some(lower)) if category(lower) > category(higher) => {
            Some(promote(higher, lower))
        }
        (higher, lower) => higher.or(lower),
    }
}

/// The category of a dtype in type promotion, ascending: truth values, integers, floats.
pub(crate) fn category(dtype: DType) -> u8 {
    match dtype {
        DType::Bool => 0,
        _ if dtype.is_integer() => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Typed::{Dimensioned, Scalar, ZeroDim};

    #[test]
    fn a_lower_priority_counts_only_where_its_category_is_higher() {
        assert_eq!(result_type(&[Dimensioned(DType::F16), ZeroDim(DType::F64)]), DType::F16);
        assert_eq!(result_type(&[Dimensioned(DType::U8), ZeroDim(DType::I64)]), DType::U8);
        assert_eq!(result_type(&[Dimensioned(DType::U8), ZeroDim(DType::F64)]), DType::F64);
        assert_eq!(result_type(&[Dimensioned(DType::I64), Scalar(DType::F64)]), DType::F32);
    }

    #[test]
    fn within_a_priority_the_wider_dtype_wins() {
        assert_eq!(result_type(&[Dimensioned(DType::I64), Dimensioned(DType::F16)]), DType::F16);
        assert_eq!(result_type(&[Dimensioned(DType::F32), Dimensioned(DType::F64)]), DType::F64);
        assert_eq!(result_type(&[ZeroDim(DType::Bool), Scalar(DType::I64)]), DType::I64);
    }

    #[test]
    fn nothing_to_decide_by_gives_the_default() {
        assert_eq!(result_type(&[]), DType::F32);
    }
}
