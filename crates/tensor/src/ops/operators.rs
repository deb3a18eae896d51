//! `+ - * /` and `-x` on tensors and numbers; they give a `Result`, since shapes may not fit.

use std::ops::{Add, Div, Mul, Neg, Sub};

use half::f16;

use super::arithmetic::{ADD, DIV, MUL, SUB};
use super::operand::Operand;
use crate::{Result, Scalar, Tensor};

macro_rules! operators {
    ($($trait:ident::$method:ident => $operation:ident;)*) => {$(
        impl<'a, O: Into<Operand<'a>>> $trait<O> for &Tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: O) -> Result<Tensor> {
                $operation.apply(self.into(), other.into())
            }
        }

        impl<'a, O: Into<Operand<'a>>> $trait<O> for Tensor {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: O) -> Result<Tensor> {
                $operation.apply((&self).into(), other.into())
            }
        }

        numbers_first!($trait::$method => $operation: f16 f32 f64 i32 i64 u8);
    )*};
}

macro_rules! numbers_first {
    ($trait:ident::$method:ident => $operation:ident: $($number:ty)*) => {$(
        impl $trait<&Tensor> for $number {
            type Output = Result<Tensor>;

            #[track_caller]
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                $operation.apply(Operand::Number(Scalar::from(self)), other.into())
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

impl Neg for &Tensor {
    type Output = Result<Tensor>;

    #[track_caller]
    fn neg(self) -> Result<Tensor> {
        Tensor::neg(self)
    }
}
