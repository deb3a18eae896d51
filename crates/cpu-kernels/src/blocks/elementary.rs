//! Functions of many instructions, of the module [`functions`].

use std::marker::PhantomData;

use expression::Primitive;

use super::block::{BlockArguments, BlockKernel};
use crate::functions::{self, BinaryFunction, BinaryLoop, UnaryFunction, UnaryLoop};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned};

/// The loop over a block of a function of one number.
struct Elementary1<F, T>(PhantomData<fn(F, T)>);

impl<F: UnaryFunction<T>, T: Copy + 'static> Multiversioned for Elementary1<F, T> {
    type Arguments = BlockArguments;
    type Output = ();

    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: a block's conditions are those of the loop, and its values of the function's type.
        unsafe {
            block.in_pieces(|out, [a, ..], length| UnaryLoop::<F, T>::run::<I>((out, a, length)));
        }
    }
}

/// The loop over blocks of a function of two numbers.
struct Elementary2<F, T>(PhantomData<fn(F, T)>);

impl<F: BinaryFunction<T>, T: Copy + 'static> Multiversioned for Elementary2<F, T> {
    type Arguments = BlockArguments;
    type Output = ();

    #[inline(always)]
    unsafe fn run<I: Isa>(block: BlockArguments) {
        // SAFETY: as for a function of one number.
        unsafe {
            block.in_pieces(|out, [a, b, _], length| {
                BinaryLoop::<F, T>::run::<I>((out, (a, b), length));
            });
        }
    }
}

/// The loop of [`functions::Gelu`].
pub(super) fn gelu<T: Copy + 'static>(set: InstructionSet) -> BlockKernel
where
    functions::Gelu: UnaryFunction<T>,
{
    set.version::<Elementary1<functions::Gelu, T>>()
}

macro_rules! elementary_kernels {
    ($name:ident, $T:ident: $($One:ident)*; $($Two:ident)*) => {
        /// The loop of one of these primitives.
        pub(super) fn $name(primitive: Primitive, set: InstructionSet) -> Option<BlockKernel> {
            match primitive {
                $(Primitive::$One => Some(set.version::<Elementary1<functions::$One, $T>>()),)*
                $(Primitive::$Two => Some(set.version::<Elementary2<functions::$Two, $T>>()),)*
                _ => None,
            }
        }
    };
}

macro_rules! float_kernels {
    ($name:ident, $T:ident) => {
        elementary_kernels! {
            $name, $T:
            Acos Acosh Asin Asinh Atan Atanh Cos Cosh Digamma Erf Erfc Erfinv Exp Exp2 Expm1 Lgamma
            Log Log10 Log1p Log2 Sigmoid Sin Sinh Tan Tanh;
            Atan2 FloorDiv Fmod Hypot Igamma Igammac Pow Remainder
        }
    };
}

float_kernels!(kernel_f32, f32);
float_kernels!(kernel_f64, f64);
elementary_kernels!(kernel_i32, i32: ; Gcd Pow);
elementary_kernels!(kernel_i64, i64: ; Gcd Pow);
