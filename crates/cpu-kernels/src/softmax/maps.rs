//! The functions of one or two elements that softmax and its like are made of.

use std::marker::PhantomData;

use crate::convert::FloatValue;
use crate::functions::{Exp, Log, UnaryFunction};
use crate::instruction_set::{Isa, Multiversioned};
use crate::loops::{long_map1, long_map2, prefetch_to_l2};
use crate::reduce::{DenseValues, LANES, fold_lanes, for_each_lanes};

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

/// The largest of dense values, or NaN if there is one.
pub(super) struct LargestOfValues<V>(PhantomData<V>);

impl<V: SoftmaxFloat> Multiversioned for LargestOfValues<V> {
    /// The values, of which the first of what is used next is asked for.
    type Arguments = DenseValues<V>;
    type Output = V;

    /// # Safety
    /// The values are valid for reads.
    #[inline(always)]
    unsafe fn run<I: Isa>(DenseValues { start, count, ahead }: DenseValues<V>) -> V {
        // Two sets of partial results, since a comparison takes longer than an addition. The largest
        // element is the same with any number of them.
        let mut lanes = [[V::LEAST; LANES]; 2];
        // SAFETY: a condition of this function; a half of the values begins within them.
        unsafe {
            let first = count / 2;
            let halves = [start, start.add(first)];
            for_each_lanes(halves, first, [V::LEAST; 2], |at, values| {
                for half in [0, first] {
                    let ahead = ahead[0].wrapping_add(half + at);
                    prefetch_to_l2(ahead.cast(), LANES * size_of::<V>());
                }
                for lane in 0..LANES {
                    lanes[0][lane] = lanes[0][lane].larger(values[0][lane]);
                    lanes[1][lane] = lanes[1][lane].larger(values[1][lane]);
                }
            });
        }
        let [mut largest, second] = lanes.map(|lanes| fold_lanes(lanes, V::larger));
        largest = largest.larger(second);
        if count % 2 == 1 {
            // SAFETY: it is the last of an odd number.
            largest = largest.larger(unsafe { *start.add(count - 1) });
        }
        largest
    }
}

/// Exponentials that are computed before they are added up.
const BLOCK: usize = 256;

/// The exponentials of the distances of values from a number, and their sum.
pub(super) struct Exponentials<V>(PhantomData<V>);

impl<V: SoftmaxFloat> Multiversioned for Exponentials<V> {
    /// The place of the exponentials, the values, of which the second of what is used next is asked
    /// for, and the number.
    type Arguments = (*mut V, DenseValues<V>, V);
    type Output = V;

    /// # Safety
    /// The values are valid for reads and `out` for writes of as many, which overlap nothing.
    #[inline(always)]
    unsafe fn run<I: Isa>((out, values, largest): Self::Arguments) -> V {
        let mut lanes = [V::ZERO; LANES];
        let mut at = 0;
        while at < values.count {
            let count = BLOCK.min(values.count - at);
            prefetch_to_l2(values.ahead[1].wrapping_add(at).cast(), count * size_of::<V>());
            // SAFETY: the block lies within both (conditions of this function), and is written
            // before it is read.
            unsafe {
                let out = out.add(at);
                long_map1(out, values.start.add(at), count, |x: V| (x - largest).exp::<I>());
                for_each_lanes([out.cast_const()], count, [V::ZERO], |_, [terms]| {
                    for lane in 0..LANES {
                        lanes[lane] = lanes[lane] + terms[lane];
                    }
                });
            }
            at += count;
        }
        fold_lanes(lanes, |a, b| a + b)
    }
}
