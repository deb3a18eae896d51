//! Elementary functions of floats that loops over them make vectors of, with the same bits in every
//! instruction set: nothing is fused, since the baseline has no instruction for it.
mod error_function;
mod exp;
mod exponent;
mod function;
mod hyperbolic;
mod log;
mod polynomial;

use error_function::*;
use exp::*;
use hyperbolic::*;
use log::*;

// Until the table of kernels takes them.
#[allow(unused_imports)]
pub(crate) use function::{Binary, BinaryLoop, Unary, UnaryLoop};

/// Functions of one number, by the primitive's name.
macro_rules! unary {
    ($($primitive:ident: $single:ident, $double:ident;)*) => {$(
        #[doc = concat!("The primitive [`", stringify!($primitive), "`](expression::Primitive::", stringify!($primitive), ").")]
        pub(crate) struct $primitive;

        impl Unary<f32> for $primitive {
            #[inline(always)]
            fn moderate(x: f32) -> f32 {
                $single(x)
            }
        }

        impl Unary<f64> for $primitive {
            #[inline(always)]
            fn moderate(x: f64) -> f64 {
                $double(x)
            }
        }
    )*};
}

unary! {
    Exp: exp_f32, exp_f64;
    Log: log_f32, log_f64;
    Sigmoid: sigmoid_f32, sigmoid_f64;
    Tanh: tanh_f32, tanh_f64;
}

/// The primitive [`Erf`](expression::Primitive::Erf).
pub(crate) struct Erf;

impl Unary<f64> for Erf {
    #[inline(always)]
    fn moderate(x: f64) -> f64 {
        libm::erf(x)
    }
}
impl Unary<f32> for Erf {
    #[inline(always)]
    fn moderate(x: f32) -> f32 {
        erf_f32(x)
    }
}

#[cfg(test)]
mod tests;
