//! The conditions of Cranelift and the operations of the runtime that stand for those of PTX.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use ptx::{Comparison, FloatOp};

use crate::runtime::RoundedOp;

/// The condition under which a comparison of integers holds.
pub(super) fn integer_condition(comparison: Comparison, signed: bool) -> IntCC {
    match comparison {
        Comparison::Equal => IntCC::Equal,
        Comparison::NotEqual => IntCC::NotEqual,
        Comparison::Less if signed => IntCC::SignedLessThan,
        Comparison::LessEqual if signed => IntCC::SignedLessThanOrEqual,
        Comparison::Greater if signed => IntCC::SignedGreaterThan,
        Comparison::GreaterEqual if signed => IntCC::SignedGreaterThanOrEqual,
        Comparison::Less | Comparison::Lower => IntCC::UnsignedLessThan,
        Comparison::LessEqual | Comparison::LowerSame => IntCC::UnsignedLessThanOrEqual,
        Comparison::Greater | Comparison::Higher => IntCC::UnsignedGreaterThan,
        Comparison::GreaterEqual | Comparison::HigherSame => IntCC::UnsignedGreaterThanOrEqual,
        _ => unreachable!("the opcode table keeps unordered comparisons to floating-point types"),
    }
}

/// The condition under which a comparison of floating-point numbers holds.
pub(super) fn float_condition(comparison: Comparison) -> FloatCC {
    match comparison {
        Comparison::Equal => FloatCC::Equal,
        Comparison::NotEqual => FloatCC::OrderedNotEqual,
        Comparison::Less => FloatCC::LessThan,
        Comparison::LessEqual => FloatCC::LessThanOrEqual,
        Comparison::Greater => FloatCC::GreaterThan,
        Comparison::GreaterEqual => FloatCC::GreaterThanOrEqual,
        Comparison::EqualUnordered => FloatCC::UnorderedOrEqual,
        Comparison::NotEqualUnordered => FloatCC::NotEqual,
        Comparison::LessUnordered => FloatCC::UnorderedOrLessThan,
        Comparison::LessEqualUnordered => FloatCC::UnorderedOrLessThanOrEqual,
        Comparison::GreaterUnordered => FloatCC::UnorderedOrGreaterThan,
        Comparison::GreaterEqualUnordered => FloatCC::UnorderedOrGreaterThanOrEqual,
        Comparison::Ordered => FloatCC::Ordered,
        Comparison::Unordered => FloatCC::Unordered,
        _ => unreachable!("the opcode table keeps unsigned comparisons to integer types"),
    }
}

/// The operation as the runtime's functions for rounding modes know it.
pub(super) fn rounded_op(op: FloatOp) -> RoundedOp {
    match op {
        FloatOp::Add => RoundedOp::Add,
        FloatOp::Sub => RoundedOp::Sub,
        FloatOp::Multiply => RoundedOp::Multiply,
        FloatOp::FusedMultiplyAdd => RoundedOp::FusedMultiplyAdd,
        FloatOp::Divide => RoundedOp::Divide,
        FloatOp::SquareRoot => RoundedOp::SquareRoot,
        FloatOp::Reciprocal => RoundedOp::Reciprocal,
        _ => unreachable!("the opcode table gives other operations no rounding mode"),
    }
}
