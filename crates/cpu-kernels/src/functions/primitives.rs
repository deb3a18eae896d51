//! The functions as types, by the names of their primitives.

use super::function::{BinaryFunction, UnaryFunction};
use super::{
    error_function, exp, gamma, hyperbolic, hypot, integer, inverse_error_function,
    inverse_trigonometric, log, pow, remainder, trigonometric,
};
use crate::instruction_set::Isa;

/// A type for a primitive, documented as such.
macro_rules! primitive {
    ($name:ident) => {
        #[doc = concat!("[`", stringify!($name), "`](expression::Primitive::", stringify!($name), ").")]
        pub(crate) struct $name;
    };
}

/// Functions of one number, without exceptions.
macro_rules! unary {
    ($($name:ident: $module:ident $single:ident $double:ident;)*) => {$(
        primitive!($name);
        unary!($name f32 $module $single ::<I>);
        unary!($name f64 $module $double ::<I>);
    )*};
    // All sets call the same code.
    (scalar $($name:ident: $module:ident $single:ident $double:ident;)*) => {$(
        primitive!($name);
        unary!($name f32 $module $single);
        unary!($name f64 $module $double);
    )*};
    // What follows is `::<I>` if the function depends on the instruction set.
    ($name:ident $float:ident $module:ident $function:ident $($of_set:tt)*) => {
        impl UnaryFunction<$float> for $name {
            #[inline(always)]
            fn moderate<I: Isa>(x: $float) -> $float {
                $module::$function $($of_set)* (x)
            }
        }
    };
}

/// Functions of two numbers, without exceptions.
macro_rules! binary {
    ($($name:ident: $module:ident $single:ident $double:ident;)*) => {$(
        primitive!($name);
        binary!($name f32 $module $single ::<I>);
        binary!($name f64 $module $double ::<I>);
    )*};
    // All sets call the same code.
    (scalar $($name:ident: $module:ident $single:ident $double:ident;)*) => {$(
        primitive!($name);
        binary!($name f32 $module $single);
        binary!($name f64 $module $double);
    )*};
    ($name:ident $number:ident $module:ident $function:ident $($of_set:tt)*) => {
        impl BinaryFunction<$number> for $name {
            #[inline(always)]
            fn moderate<I: Isa>(a: $number, b: $number) -> $number {
                $module::$function $($of_set)* (a, b)
            }
        }
    };
}

unary! {
    Acos: inverse_trigonometric acos_f32 acos_f64;
    Acosh: hyperbolic acosh_f32 acosh_f64;
    Asin: inverse_trigonometric asin_f32 asin_f64;
    Asinh: hyperbolic asinh_f32 asinh_f64;
    Atan: inverse_trigonometric atan_f32 atan_f64;
    Atanh: hyperbolic atanh_f32 atanh_f64;
    Cosh: hyperbolic cosh_f32 cosh_f64;
    Erf: error_function erf_f32 erf_f64;
    Erfc: error_function erfc_f32 erfc_f64;
    Erfinv: inverse_error_function erfinv_f32 erfinv_f64;
    Exp: exp exp_f32 exp_f64;
    Exp2: exp exp2_f32 exp2_f64;
    Expm1: exp expm1_f32 expm1_f64;
    Log: log log_f32 log_f64;
    Log10: log log10_f32 log10_f64;
    Log1p: log log1p_f32 log1p_f64;
    Log2: log log2_f32 log2_f64;
    Sigmoid: exp sigmoid_f32 sigmoid_f64;
    Sinh: hyperbolic sinh_f32 sinh_f64;
    Tanh: hyperbolic tanh_f32 tanh_f64;
}

/// The activation function, which is several primitives.
pub(crate) struct Gelu;
unary!(Gelu f32 error_function gelu_f32 ::<I>);
unary!(Gelu f64 error_function gelu_f64 ::<I>);

unary! {
    scalar
    Digamma: gamma digamma_f32 digamma_f64;
    Lgamma: gamma lgamma_f32 lgamma_f64;
}

binary! {
    scalar
    Igamma: gamma igamma_f32 igamma_f64;
    Igammac: gamma igammac_f32 igammac_f64;
}

binary! {
    Atan2: inverse_trigonometric atan2_f32 atan2_f64;
    Hypot: hypot hypot_f32 hypot_f64;
    Pow: pow pow_f32 pow_f64;
}

/// Functions of angles, which are reduced by `libm` if they are large.
macro_rules! angles {
    ($($name:ident $float:ident: $moderate:ident $is_moderate:ident $any:ident;)*) => {$(
        impl UnaryFunction<$float> for $name {
            #[inline(always)]
            fn is_moderate(x: $float) -> bool {
                trigonometric::$is_moderate(x)
            }

            #[inline(always)]
            fn moderate<I: Isa>(x: $float) -> $float {
                trigonometric::$moderate::<I>(x)
            }

            #[inline(always)]
            fn any<I: Isa>(x: $float) -> $float {
                if Self::is_moderate(x) { Self::moderate::<I>(x) } else { libm::$any(x) }
            }
        }
    )*};
}

primitive!(Cos);
primitive!(Sin);
primitive!(Tan);

angles! {
    Cos f32: cos_f32 is_moderate_f32 cosf;
    Cos f64: cos_f64 is_moderate_f64 cos;
    Sin f32: sin_f32 is_moderate_f32 sinf;
    Sin f64: sin_f64 is_moderate_f64 sin;
    Tan f32: tan_f32 is_moderate_f32 tanf;
    Tan f64: tan_f64 is_moderate_f64 tan;
}

/// Functions made of the remainder, which `libm` finds bit by bit if the quotient is large. They are
/// given as functions of the operands and the remainder with the sign of the first.
macro_rules! remainders {
    ($($name:ident $float:ident: $is_moderate:ident $fmod:ident $any:ident, $function:expr;)*) => {$(
        impl BinaryFunction<$float> for $name {
            #[inline(always)]
            fn is_moderate(a: $float, b: $float) -> bool {
                remainder::$is_moderate(a, b)
            }

            #[inline(always)]
            fn moderate<I: Isa>(a: $float, b: $float) -> $float {
                ($function)(a, b, remainder::$fmod::<I>(a, b))
            }

            #[inline(always)]
            fn any<I: Isa>(a: $float, b: $float) -> $float {
                if Self::is_moderate(a, b) {
                    Self::moderate::<I>(a, b)
                } else {
                    ($function)(a, b, libm::$any(a, b))
                }
            }
        }
    )*};
}

primitive!(FloorDiv);
primitive!(Fmod);
primitive!(Remainder);

remainders! {
    FloorDiv f32: is_moderate_f32 fmod_f32 fmodf, remainder::floor_divide_f32;
    FloorDiv f64: is_moderate_f64 fmod_f64 fmod, remainder::floor_divide_f64;
    Fmod f32: is_moderate_f32 fmod_f32 fmodf, |_, _, rest| rest;
    Fmod f64: is_moderate_f64 fmod_f64 fmod, |_, _, rest| rest;
    Remainder f32: is_moderate_f32 fmod_f32 fmodf, |_, b, rest| remainder::remainder_f32(rest, b);
    Remainder f64: is_moderate_f64 fmod_f64 fmod, |_, b, rest| remainder::remainder_f64(rest, b);
}

primitive!(Gcd);
binary!(Gcd i32 integer gcd_i32);
binary!(Gcd i64 integer gcd_i64);

/// Powers of integers, by fixed steps where exponents are small.
macro_rules! integer_powers {
    ($($integer:ident: $is_small:ident $small:ident $any:ident;)*) => {$(
        impl BinaryFunction<$integer> for Pow {
            #[inline(always)]
            fn is_moderate(_: $integer, exponent: $integer) -> bool {
                integer::$is_small(exponent)
            }

            #[inline(always)]
            fn moderate<I: Isa>(base: $integer, exponent: $integer) -> $integer {
                integer::$small(base, exponent)
            }

            #[inline(always)]
            fn any<I: Isa>(base: $integer, exponent: $integer) -> $integer {
                integer::$any(base, exponent)
            }
        }
    )*};
}

integer_powers! {
    i32: is_small_i32 small_pow_i32 pow_i32;
    i64: is_small_i64 small_pow_i64 pow_i64;
}
