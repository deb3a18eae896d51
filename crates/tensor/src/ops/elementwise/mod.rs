//! The elementwise operations by families: each is one line of data, a [`Pointwise`], and a
//! documented method, which the macros here make of it.
//!
//! [`Pointwise`]: super::pointwise::Pointwise

mod activation;
pub(super) mod arithmetic;
mod bessel;
mod bitwise;
pub(super) mod compare;
mod exponential;
mod extremes;
mod frexp;
mod incomplete_gamma;
mod interpolate;
mod parametric;
mod rounding;
mod rrelu;
pub(super) mod select;
mod special;
mod trigonometric;
mod zeta;

/// Makes operations of one operand with their methods:
///
/// ```text
/// /// The sine of x in radians.
/// [[-1.5, 0.5] => "tensor([-0.9975,  0.4794])"]
/// SIN: sin, sin_ = float(|[x]| x.sin());
/// ```
///
/// is a static `SIN`, named "sin", and the methods `sin` and, where a second name is given, `sin_`
/// (in place). The constructor and what follows it are methods of `Pointwise`. The line in brackets
/// is the example of the documentation: operands, and what PyTorch prints of the result.
macro_rules! unary {
    ($($(#[$doc:meta])* [$x:tt => $printed:literal] $static:ident: $method:ident $(, $in_place:ident)? =
        $make:ident($body:expr $(,)?) $(.$modifier:ident($($argument:expr),* $(,)?))*;)*) => {
        $(pub(in crate::ops) static $static: $crate::ops::pointwise::Pointwise<1> =
            $crate::ops::pointwise::Pointwise::$make(stringify!($method), $body)
                $(.$modifier($($argument),*))*;)*

        impl $crate::Tensor {$(
            $(#[$doc])*
            #[doc = $crate::ops::elementwise::example!($x, $method, "", $printed)]
            #[track_caller]
            pub fn $method(&self) -> $crate::Result<$crate::Tensor> {
                $static.apply([self.into()])
            }

            $(
                #[doc = concat!("[`", stringify!($method), "`](Self::", stringify!($method), ") in place.")]
                #[track_caller]
                pub fn $in_place(&self) -> $crate::Result<$crate::Tensor> {
                    $static.apply_in_place(stringify!($in_place), self, [self.into()])
                }
            )?
        )*}
    };
}

/// Makes operations of a tensor and another operand, as `unary!` does of one.
macro_rules! binary {
    ($($(#[$doc:meta])* [$x:tt, $other:expr => $printed:literal] $static:ident: $method:ident $(, $in_place:ident)? =
        $make:ident($body:expr $(,)?) $(.$modifier:ident($($argument:expr),* $(,)?))*;)*) => {
        $(pub(in crate::ops) static $static: $crate::ops::pointwise::Pointwise<2> =
            $crate::ops::pointwise::Pointwise::$make(stringify!($method), $body)
                $(.$modifier($($argument),*))*;)*

        impl $crate::Tensor {$(
            $(#[$doc])*
            #[doc = $crate::ops::elementwise::example!($x, $method, stringify!($other), $printed)]
            #[track_caller]
            pub fn $method<'a>(
                &self,
                other: impl Into<$crate::TensorOrScalar<'a>>,
            ) -> $crate::Result<$crate::Tensor> {
                $static.apply([self.into(), other.into()])
            }

            $(
                #[doc = concat!("[`", stringify!($method), "`](Self::", stringify!($method), ") in place.")]
                #[track_caller]
                pub fn $in_place<'a>(
                    &self,
                    other: impl Into<$crate::TensorOrScalar<'a>>,
                ) -> $crate::Result<$crate::Tensor> {
                    $static.apply_in_place(stringify!($in_place), self, [self.into(), other.into()])
                }
            )?
        )*}
    };
}

/// The example of a method: its call on a tensor of `$x`, and what is printed of the result.
macro_rules! example {
    ($x:tt, $method:ident, $other:expr, $printed:literal) => {
        concat!(
            "\n```\nuse tensor::tensor;\nlet y = tensor!",
            stringify!($x),
            "?.",
            stringify!($method),
            "(",
            $other,
            ")?;\nassert_eq!(y.to_string(), ",
            stringify!($printed),
            ");\n# Ok::<(), tensor::Error>(())\n```"
        )
    };
}

use crate::{Error, Result, Tensor, is_grad_enabled};
use {binary, example, unary};

/// Checks that nobody asks for the gradient of a tensor that an operation has none of.
fn expect_constant(op: &'static str, x: &Tensor, why: &'static str) -> Result<()> {
    if !is_grad_enabled() || !x.requires_grad() {
        return Ok(());
    }
    let value = "a tensor that requires a gradient".to_owned();
    Err(Error::InvalidArgument { op, argument: "self", value, why })
}
