//! The operators `+ - * /` and `-x` of Rust, on tensors (owned or borrowed) and numbers. They give
//! a `Result`, since shapes may not fit.

use std::borrow::Borrow;
use std::ops::{Add, Div, Mul, Neg, Sub};

use half::f16;

use super::elementwise::arithmetic::{ADD, DIV, MUL, SUB, subtract};
use super::operand::TensorOrScalar;
use super::pointwise::Pointwise;
use crate::{Result, Scalar, Tensor};

macro_rules! operators {
    ($($trait:ident::$method:ident => $operator:ident;)*) => {$(
        tensor_first!($trait::$method => $operator: Tensor, &Tensor);
        number_first!($trait::$method => $operator: f16, f32, f64, i32, i64, u8, Scalar);
    )*};
}

/// A tensor, owned or borrowed, with a number or a borrowed tensor, and with an owned tensor.
macro_rules! tensor_first {
    ($trait:ident::$method:ident => $operator:ident: $($tensor:ty),*) => {$(
        impl<'a, O: Into<TensorOrScalar<'a>>> $trait<O> for $tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: O) -> Result<Tensor> {
                apply(&$operator, [TensorOrScalar::Tensor(self.borrow()), other.into()])
            }
        }

        impl $trait<Tensor> for $tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: Tensor) -> Result<Tensor> {
                let operands = [self.borrow(), &other].map(TensorOrScalar::Tensor);
                apply(&$operator, operands)
            }
        }
    )*};
}

macro_rules! number_first {
    ($trait:ident::$method:ident => $operator:ident: $($number:ty),*) => {$(
        number_first!(@with $trait::$method => $operator: $number, Tensor);
        number_first!(@with $trait::$method => $operator: $number, &Tensor);
    )*};
    (@with $trait:ident::$method:ident => $operator:ident: $number:ty, $tensor:ty) => {
        impl $trait<$tensor> for $number {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: $tensor) -> Result<Tensor> {
                let number = TensorOrScalar::Scalar(Scalar::from(self));
                apply(&$operator, [number, TensorOrScalar::Tensor(other.borrow())])
            }
        }
    };
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
        Tensor::neg(&self)
    }
}

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    #[track_caller]
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}

/// Applies an operation; differences of truth values are refused, as by [`Tensor::sub`].
#[track_caller]
fn apply(operation: &'static Pointwise<2>, operands: [TensorOrScalar<'_>; 2]) -> Result<Tensor> {
    match std::ptr::eq(operation, &SUB) {
        true => subtract(operation, operands),
        false => operation.apply(operands),
    }
}
