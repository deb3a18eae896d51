//! The functions of one or two elements that softmax and its like are made of.

use std::marker::PhantomData;

use crate::convert::FloatValue;
use crate::functions::{Exp, Log, UnaryFunction};
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::long_map2;

/// A float that softmax is computed in.
pub(crate) trait SoftmaxFloat: FloatValue {
    fn exp<I: Isa>(self) -> Self;
    fn ln<I: Isa>(self) -> Self;
}

macro_rules! softmax_floats {
    ($($type:ty)+) => {$(
        impl SoftmaxFloat for $type {
            #[inline(always)]
            fn exp<I: Isa>(self) -> $type {
                <Exp as UnaryFunction<$type>>::moderate::<I>(self)
            }

            #[inline(always)]
            fn ln<I: Isa>(self) -> $type {
                <Log as UnaryFunction<$type>>::moderate::<I>(self)
            }
        }
    )+};
}

softmax_floats! { f32 f64 }

/// A function of the elements of one or two rows, and of two numbers that are the same for a row.
pub(super) trait RowMap<V>: 'static {
    fn of<I: Isa>(a: V, b: V, numbers: [V; 2]) -> V;
}

macro_rules! row_maps {
    ($($(#[$attr:meta])* $name:ident: |$a:pat_param, $b:pat_param, $numbers:pat_param| $result:expr;)+) => {$(
        $(#[$attr])*
        pub(super) struct $name;

        impl<V: SoftmaxFloat> RowMap<V> for $name {
            #[inline(always)]
            fn of<I: Isa>($a: V, $b: V, $numbers: [V; 2]) -> V {
                $result
            }
        }
    )+};
}

row_maps! {
    /// The exponential of the distance from the largest element.
    Exponential: |x, _, [largest, _]| (x - largest).exp::<I>();
    /// An exponential times the inverse of the sum of all.
    Share: |e, _, [_, inverse]| e * inverse;
    /// Both at once.
    ExponentialShare: |x, _, [largest, inverse]| (x - largest).exp::<I>() * inverse;
    /// The logarithm of [`ExponentialShare`], where the second number is that of the sum.
    LogShare: |x, _, [largest, log]| x - largest - log;
    /// A term of the sum that the gradient of softmax needs, of gradient and result.
    Product: |g, y, _| g * y;
    /// The gradient of softmax, of gradient and result.
    SoftmaxGradient: |g, y, [sum, _]| y * (g - sum);
    /// The gradient of log-softmax, of gradient and result.
    LogSoftmaxGradient: |g, y, [sum, _]| g - y.exp::<I>() * sum;
}

/// The rows that a [`RowMap`] is applied to, which do not overlap the result.
#[derive(Clone, Copy)]
pub(super) struct MapArguments<V> {
    pub(super) out: *mut V,
    pub(super) a: *const V,
    pub(super) b: *const V,
    pub(super) len: usize,
    pub(super) numbers: [V; 2],
}

/// The loop of a [`RowMap`].
pub(super) struct MapRow<M, V>(PhantomData<fn(M, V)>);

impl<V: SoftmaxFloat, M: RowMap<V>> Multiversioned for MapRow<M, V> {
    type Arguments = MapArguments<V>;
    type Output = ();

    /// # Safety
    /// The operands are valid for reads and `out` for writes; it does not overlap them, or begins
    /// where an operand begins.
    #[inline(always)]
    unsafe fn run<I: Isa>(row: MapArguments<V>) {
        // SAFETY: the conditions of this function.
        unsafe {
            long_map2(row.out, (row.a, row.b), row.len, |a, b| M::of::<I>(a, b, row.numbers));
        }
    }
}
