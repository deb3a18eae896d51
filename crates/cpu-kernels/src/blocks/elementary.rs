//! Elementary functions, element by element.

use expression::Primitive;

use super::{BlockKernel, kernels};
use crate::instruction_set::InstructionSet;

macro_rules! elementary_kernels {
    ($name:ident, $T:ident) => {
        /// The loop of one of these primitives.
        pub(super) fn $name(primitive: Primitive, set: InstructionSet) -> Option<BlockKernel> {
            kernels! {
                (primitive, set):
                Exp => long1 |a: $T| f64::from(a).exp() as $T;
                Exp2 => long1 |a: $T| f64::from(a).exp2() as $T;
                Expm1 => long1 |a: $T| f64::from(a).exp_m1() as $T;
                Log => long1 |a: $T| f64::from(a).ln() as $T;
                Log2 => long1 |a: $T| f64::from(a).log2() as $T;
                Log10 => long1 |a: $T| f64::from(a).log10() as $T;
                Log1p => long1 |a: $T| f64::from(a).ln_1p() as $T;
                Sin => long1 |a: $T| f64::from(a).sin() as $T;
                Cos => long1 |a: $T| f64::from(a).cos() as $T;
                Tan => long1 |a: $T| f64::from(a).tan() as $T;
                Asin => long1 |a: $T| f64::from(a).asin() as $T;
                Acos => long1 |a: $T| f64::from(a).acos() as $T;
                Atan => long1 |a: $T| f64::from(a).atan() as $T;
                Sinh => long1 |a: $T| f64::from(a).sinh() as $T;
                Cosh => long1 |a: $T| f64::from(a).cosh() as $T;
                Tanh => long1 |a: $T| f64::from(a).tanh() as $T;
                Asinh => long1 |a: $T| libm::asinh(f64::from(a)) as $T;
                Acosh => long1 |a: $T| libm::acosh(f64::from(a)) as $T;
                Atanh => long1 |a: $T| libm::atanh(f64::from(a)) as $T;
                Sigmoid => long1 |a: $T| (1.0 / (1.0 + (-f64::from(a)).exp())) as $T;
                Erf => long1 |a: $T| libm::erf(f64::from(a)) as $T;
                Erfc => long1 |a: $T| libm::erfc(f64::from(a)) as $T;
                Lgamma => long1 |a: $T| libm::lgamma(f64::from(a)) as $T;
                Pow => long2 |a: $T, b: $T| libm::pow(f64::from(a), f64::from(b)) as $T;
                Atan2 => long2 |a: $T, b: $T| f64::from(a).atan2(f64::from(b)) as $T;
                Hypot => long2 |a: $T, b: $T| libm::hypot(f64::from(a), f64::from(b)) as $T;
                // Until the functions are there.
                Erfinv => long1 |a: $T| a;
                Digamma => long1 |a: $T| a;
            }
        }
    };
}

elementary_kernels!(kernel_f32, f32);
elementary_kernels!(kernel_f64, f64);
