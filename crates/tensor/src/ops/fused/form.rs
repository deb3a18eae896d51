//! What is known of an operand when a fused function is traced, and its encoding.

use expression::ComputeType;

use crate::promote::Typed;
use crate::{DType, default_dtype};

/// The form of an operand in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FusedForm {
    pub(super) typed: Typed,
    pub(super) passed: Passed,
}

/// The way in which an operand is passed to the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// A tensor, by its memory.
    Tensor,
    /// A value in the arguments: a number, or a 0-dimensional tensor of the host beside tensors of a device.
    Number,
    /// The tensor that the result is written into.
    Target,
}

/// The operands' forms and the default dtype of a call, as a number. Two calls with the same key
/// run the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FuseKey(u64);

/// The bits of a form.
const BITS: u32 = 6;

/// The first code of each kind of form. There are ten dtypes, and three kinds of numbers.
const ZERO_DIM: u64 = 10;
const ZERO_DIM_NUMBER: u64 = 20;
const TARGET: u64 = 30;
const ZERO_DIM_TARGET: u64 = 40;
const NUMBER: u64 = 50;

impl FuseKey {
    /// The most operands that a key has room for.
    pub(super) const MAX_OPERANDS: usize = 8;

    /// The key of a call of a function whose result has a dtype of its own, or, in place, that of
    /// the target.
    pub(super) fn new(forms: &[FusedForm], target: Option<DType>) -> FuseKey {
        let key = forms.iter().rev().fold(0, |key, form| key << BITS | form.code());
        let default = default_dtype().index() as u64;
        let target = target.map_or(15, |dtype| dtype.index() as u64);
        FuseKey(key | default << 48 | target << 52)
    }

    pub(super) fn number(self) -> u64 {
        self.0
    }
}

impl FusedForm {
    fn code(self) -> u64 {
        let index = self.dtype().index() as u64;
        match (self.typed, self.passed) {
            (Typed::Dimensioned(_), Passed::Target) => TARGET + index,
            (Typed::Dimensioned(_), _) => index,
            (Typed::ZeroDim(_), Passed::Tensor) => ZERO_DIM + index,
            (Typed::ZeroDim(_), Passed::Number) => ZERO_DIM_NUMBER + index,
            (Typed::ZeroDim(_), Passed::Target) => ZERO_DIM_TARGET + index,
            (Typed::Scalar(dtype), _) if dtype.is_float() => NUMBER,
            (Typed::Scalar(DType::Bool), _) => NUMBER + 1,
            (Typed::Scalar(_), _) => NUMBER + 2,
        }
    }

    /// The dtype of the operand; a number has the widest dtype of its kind.
    pub(super) fn dtype(self) -> DType {
        match self.typed {
            Typed::Dimensioned(dtype) | Typed::ZeroDim(dtype) | Typed::Scalar(dtype) => dtype,
        }
    }

    /// The type in which the operand, a number, is passed beside `others`. A float is a double only
    /// where doubles are computed with: elsewhere a conversion of each element would cost more than
    /// the computation.
    pub(super) fn number_type(self, others: &[FusedForm]) -> ComputeType {
        let is_double = |form: &FusedForm| {
            form.dtype() == DType::F64 && !matches!(form.typed, Typed::Scalar(_))
        };
        match self.typed {
            Typed::Scalar(DType::F64)
                if default_dtype() != DType::F64 && !others.iter().any(is_double) =>
            {
                ComputeType::F32
            }
            _ => self.dtype().compute_type(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_differ_have_keys_that_differ() {
        let mut forms = Vec::new();
        for dtype in DType::ALL {
            for passed in [Passed::Tensor, Passed::Target] {
                forms.push(FusedForm { typed: Typed::Dimensioned(dtype), passed });
                forms.push(FusedForm { typed: Typed::ZeroDim(dtype), passed });
            }
            forms.push(FusedForm { typed: Typed::ZeroDim(dtype), passed: Passed::Number });
        }
        for dtype in [DType::F64, DType::I64, DType::Bool] {
            forms.push(FusedForm { typed: Typed::Scalar(dtype), passed: Passed::Number });
        }
        let mut keys = Vec::new();
        for &form in &forms {
            for target in [None, Some(DType::F64)] {
                keys.push(FuseKey::new(&[forms[0], form], target).number());
                if form != forms[0] {
                    keys.push(FuseKey::new(&[form, forms[1]], target).number());
                }
            }
        }
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all);
        assert!(keys.iter().all(|key| key >> 56 == 0));
    }
}
