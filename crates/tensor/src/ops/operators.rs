//! The operators `+ - * /` and `-x` of Rust, on tensors (owned or borrowed) and numbers. They give
//! a `Result`, since shapes may not fit. The result of owned tensors may lie in the memory of one of
//! them.
//!
//! An operand may itself be the result of an operation beside a tensor, so that an expression needs
//! one `?`: `((&x * &w) + &b)?`. Rust's rule of coherence allows this for a `Result` beside a tensor
//! only: neither a `Result` beside a number or another `Result`, nor `-` before one, which take
//! their `?`.
//!
//! Numbers on the left are `f64`, `i64` and [`Scalar`] only: where one type alone is a float, Rust
//! knows what the literal in `2.0 * &x` is.

use std::borrow::Borrow;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::elementwise::arithmetic::{ADD, DIV, MUL, NEG, SUB, not_of_bools};
use super::operand::TensorOrScalar;
use super::pointwise::Pointwise;
use crate::{Result, Scalar, Tensor};

macro_rules! operators {
    ($($trait:ident::$method:ident => $operator:ident;)*) => {$(
        tensor_first!($trait::$method => $operator: Tensor = OWNED, &Tensor = BORROWED);
        number_first!($trait::$method => $operator: f64, i64, Scalar);
        result_beside!($trait::$method: Tensor, &Tensor);
    )*};
}

/// A tensor, owned or borrowed, with a number or a borrowed tensor, and with an owned tensor.
macro_rules! tensor_first {
    ($trait:ident::$method:ident => $operator:ident: $($tensor:ty = $first:ident),*) => {$(
        impl<'a, O: Into<TensorOrScalar<'a>>> $trait<O> for $tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: O) -> Result<Tensor> {
                let operands = [TensorOrScalar::Tensor(self.borrow()), other.into()];
                apply(&$operator, [$first, BORROWED], operands)
            }
        }

        impl $trait<Tensor> for $tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: Tensor) -> Result<Tensor> {
                let operands = [self.borrow(), &other].map(TensorOrScalar::Tensor);
                apply(&$operator, [$first, OWNED], operands)
            }
        }
    )*};
}

macro_rules! number_first {
    ($trait:ident::$method:ident => $operator:ident: $($number:ty),*) => {$(
        number_first!(@with $trait::$method => $operator: $number, Tensor = OWNED);
        number_first!(@with $trait::$method => $operator: $number, &Tensor = BORROWED);
    )*};
    (@with $trait:ident::$method:ident => $operator:ident: $number:ty, $tensor:ty = $second:ident) => {
        impl $trait<$tensor> for $number {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: $tensor) -> Result<Tensor> {
                let number = TensorOrScalar::Scalar(Scalar::from(self));
                let operands = [number, TensorOrScalar::Tensor(other.borrow())];
                apply(&$operator, [BORROWED, $second], operands)
            }
        }
    };
}

/// A tensor, owned or borrowed, with the result of an operation on either side.
macro_rules! result_beside {
    ($trait:ident::$method:ident: $($tensor:ty),*) => {$(
        impl $trait<$tensor> for Result<Tensor> {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: $tensor) -> Result<Tensor> {
                $trait::$method(self?, other)
            }
        }

        impl $trait<Result<Tensor>> for $tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: Result<Tensor>) -> Result<Tensor> {
                $trait::$method(self, other?)
            }
        }
    )*};
}

operators! {
    Add::add => ADD;
    Sub::sub => SUB;
    Mul::mul => MUL;
    Div::div => DIV;
}

impl Neg for Tensor {
    type Output = Result<Tensor>;

    #[track_caller]
    fn neg(self) -> Result<Tensor> {
        NEG.apply_giving_up([OWNED], [TensorOrScalar::Tensor(&self)])
    }
}

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    #[track_caller]
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}

/// Whether an operator has got its operand by value, and drops it.
const OWNED: bool = true;
const BORROWED: bool = false;

/// Applies an operation; differences of truth values are refused, as by [`Tensor::sub`].
#[track_caller]
fn apply(
    operation: &'static Pointwise<2>,
    owned: [bool; 2],
    operands: [TensorOrScalar<'_>; 2],
) -> Result<Tensor> {
    if std::ptr::eq(operation, &SUB) {
        not_of_bools(operation.name(), &operands)?;
    }
    operation.apply_giving_up(owned, operands)
}
