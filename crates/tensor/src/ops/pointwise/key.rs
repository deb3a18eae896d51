//! The dtypes that an operation was called with, as a number.

use crate::DType;

/// The form of an operand in a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandForm {
    /// A tensor of this dtype.
    Tensor(DType),
    /// A number, which is given at the call in the type that the operation computes in.
    Number,
}

/// The dtypes of a call: the forms of the operands, the dtype that is computed in, and that of the
/// output. Two calls with the same key run the same function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key(u64);

/// The bits of a form or dtype.
const BITS: usize = 4;

/// The code of a number, which no dtype has.
const NUMBER: u64 = 15;

impl Key {
    /// The most operands that a key has room for.
    pub(super) const MAX_OPERANDS: usize = 8;

    /// A key whose operands are still to be entered.
    pub(super) fn new(computed: DType, output: DType) -> Key {
        Key((computed.index() as u64) << 32 | (output.index() as u64) << 36)
    }

    /// The key with the form of the operand at `position`, which was not entered before.
    pub(super) fn with(self, position: usize, form: OperandForm) -> Key {
        let code = match form {
            OperandForm::Tensor(dtype) => dtype.index() as u64,
            OperandForm::Number => NUMBER,
        };
        Key(self.0 | code << (BITS * position))
    }

    pub(super) fn operand(self, position: usize) -> OperandForm {
        match self.0 >> (BITS * position) & 0xf {
            NUMBER => OperandForm::Number,
            code => OperandForm::Tensor(DType::ALL[code as usize]),
        }
    }

    /// The dtype that is computed in.
    pub(super) fn computed(self) -> DType {
        DType::ALL[(self.0 >> 32 & 0xf) as usize]
    }

    /// The dtype of the output.
    pub(super) fn output(self) -> DType {
        DType::ALL[(self.0 >> 36 & 0xf) as usize]
    }

    /// The key as a number.
    pub(super) fn number(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_gives_back_what_was_entered() {
        let key = Key::new(DType::F32, DType::Bool)
            .with(0, OperandForm::Tensor(DType::I64))
            .with(1, OperandForm::Number)
            .with(2, OperandForm::Tensor(DType::F64));
        assert_eq!((key.computed(), key.output()), (DType::F32, DType::Bool));
        assert_eq!(key.operand(0), OperandForm::Tensor(DType::I64));
        assert_eq!(key.operand(1), OperandForm::Number);
        assert_eq!(key.operand(2), OperandForm::Tensor(DType::F64));
    }
}
