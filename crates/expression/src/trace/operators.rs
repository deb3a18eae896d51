//! Operators on values.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Shl, Shr, Sub};

use super::{Value, ValueOrConstant};
use crate::{ComputeType, Primitive};

macro_rules! binary_operators {
    ($($operator:ident $method:ident => $function:expr;)*) => {$(
        impl<'t, R: ValueOrConstant<'t>> $operator<R> for Value<'t> {
            type Output = Value<'t>;

            fn $method(self, other: R) -> Value<'t> {
                let function: fn(Value<'t>) -> Primitive = $function;
                self.binary(function(self), other)
            }
        }

        binary_operators! { $operator $method f64 i64 bool }
    )*};
    ($operator:ident $method:ident $($constant:ty)*) => {$(
        impl<'t> $operator<Value<'t>> for $constant {
            type Output = Value<'t>;

            fn $method(self, other: Value<'t>) -> Value<'t> {
                $operator::$method(self.beside(other), other)
            }
        }
    )*};
}

binary_operators! {
    Add add => |a| if is_bool(a) { Primitive::Or } else { Primitive::Add };
    Sub sub => |_| Primitive::Sub;
    Mul mul => |a| if is_bool(a) { Primitive::And } else { Primitive::Mul };
    Div div => |_| Primitive::Div;
    BitAnd bitand => |_| Primitive::And;
    BitOr bitor => |_| Primitive::Or;
    BitXor bitxor => |_| Primitive::Xor;
    Shl shl => |_| Primitive::Shl;
    Shr shr => |_| Primitive::Shr;
}

fn is_bool(value: Value<'_>) -> bool {
    value.compute_type() == ComputeType::Bool
}

impl<'t> Neg for Value<'t> {
    type Output = Value<'t>;

    fn neg(self) -> Value<'t> {
        self.unary(Primitive::Neg)
    }
}

impl<'t> Not for Value<'t> {
    type Output = Value<'t>;

    fn not(self) -> Value<'t> {
        self.unary(Primitive::Not)
    }
}
