//! CPU kernels of softmax, log-softmax and their backward functions, row by row.

use std::ops::Range;
use std::ptr;

use half::f16;

use super::arithmetic::{Arithmetic, Float};
use super::element::Stored;
use super::vector::vectorized;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Rowwise;
use crate::{DType, Element};

/// A function of whole rows, which fills `out` from `a`, and backward functions from `b` as well.
trait Row<T: Stored> {
    fn apply(out: &mut [T::Raw], a: &[T::Raw], b: &[T::Raw]);
}

struct Softmax;
struct LogSoftmax;
struct SoftmaxBackward;
struct LogSoftmaxBackward;

impl<T: Stored<Value: Float>> Row<T> for Softmax {
    #[inline(always)]
    fn apply(out: &mut [T::Raw], a: &[T::Raw], _b: &[T::Raw]) {
        let (maximum, sum) = maximum_and_sum::<T>(a);
        map::<T>(out, a, |x| x.minus(maximum).exp().divide(sum));
    }
}

impl<T: Stored<Value: Float>> Row<T> for LogSoftmax {
    #[inline(always)]
    fn apply(out: &mut [T::Raw], a: &[T::Raw], _b: &[T::Raw]) {
        let (maximum, sum) = maximum_and_sum::<T>(a);
        let log = sum.ln();
        map::<T>(out, a, |x| x.minus(maximum).minus(log));
    }
}

/// The gradient of softmax: `y * (g - sum(g * y))`, with the result y and its gradient g.
impl<T: Stored<Value: Float>> Row<T> for SoftmaxBackward {
    #[inline(always)]
    fn apply(out: &mut [T::Raw], a: &[T::Raw], b: &[T::Raw]) {
        let sum = sum([a, b], |g, y| T::load(g).times(T::load(y)));
        for ((out, &g), &y) in out.iter_mut().zip(a).zip(b) {
            *out = T::store(T::load(y).times(T::load(g).minus(sum)));
        }
    }
}

/// The gradient of log-softmax: `g - exp(y) * sum(g)`, with the result y and its gradient g.
impl<T: Stored<Value: Float>> Row<T> for LogSoftmaxBackward {
    #[inline(always)]
    fn apply(out: &mut [T::Raw], a: &[T::Raw], b: &[T::Raw]) {
        let sum = sum([a, a], |g, _| T::load(g));
        for ((out, &g), &y) in out.iter_mut().zip(a).zip(b) {
            *out = T::store(T::load(g).minus(T::load(y).exp().times(sum)));
        }
    }
}

/// The largest element m, and the sum of exp(x - m). No exponent is above zero, so none overflows.
#[inline(always)]
fn maximum_and_sum<T: Stored<Value: Float>>(a: &[T::Raw]) -> (T::Value, T::Value) {
    let maximum = fold(T::Value::LEAST, T::Value::larger, [a, a], |x, _| T::load(x));
    (maximum, sum([a, a], |x, _| T::load(x).minus(maximum).exp()))
}

#[inline(always)]
fn sum<R: Copy, V: Float>(rows: [&[R]; 2], term: impl Fn(R, R) -> V) -> V {
    fold(V::ZERO, V::plus, rows, term)
}

/// Folds the terms of a row into 16 partial results at a time: they do not depend on each other, so
/// the compiler makes vectors of them, and a processor need not wait for one addition before the
/// next.
#[inline(always)]
fn fold<R: Copy, V: Copy>(
    start: V,
    merge: impl Fn(V, V) -> V,
    [a, b]: [&[R]; 2],
    term: impl Fn(R, R) -> V,
) -> V {
    const LANES: usize = 16;
    let mut lanes = [start; LANES];
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    for ((lane, &a), &b) in lanes.iter_mut().zip(a.remainder()).zip(b.remainder()) {
        *lane = term(a, b);
    }
    for (a, b) in a.zip(b) {
        for ((lane, &a), &b) in lanes.iter_mut().zip(a).zip(b) {
            *lane = merge(*lane, term(a, b));
        }
    }
    lanes.into_iter().fold(start, merge)
}

#[inline(always)]
fn map<T: Stored>(out: &mut [T::Raw], a: &[T::Raw], f: impl Fn(T::Value) -> T::Value) {
    for (out, &x) in out.iter_mut().zip(a) {
        *out = T::store(f(T::load(x)));
    }
}

/// # Safety
/// The conditions of a `HostKernel`, for matrices of `T`; a unit is a row.
#[inline(always)]
unsafe fn each_row<T: Stored, R: Row<T>>(call: &Rowwise, units: Range<usize>) {
    let cols = call.cols as usize;
    let row = |matrix: u64, row: usize| {
        let start = ptr::with_exposed_provenance::<T::Raw>(matrix as usize);
        match matrix {
            0 => &[][..],
            // SAFETY: the matrix has `cols` elements in this row, which nobody writes (conditions
            // of this function).
            _ => unsafe { std::slice::from_raw_parts(start.add(row * cols), cols) },
        }
    };
    for unit in units {
        let start = ptr::with_exposed_provenance_mut::<T::Raw>(call.out as usize);
        // SAFETY: the output has `cols` elements in this row, which nobody else uses (conditions of
        // this function).
        let out = unsafe { std::slice::from_raw_parts_mut(start.add(unit * cols), cols) };
        R::apply(out, row(call.a, unit), row(call.b, unit));
    }
}

macro_rules! rows {
    ($($name:ident: $($type:ident)+ => $row:ty;)+) => {$(
        pub(crate) fn $name(dtype: DType) -> Option<HostKernel<Rowwise>> {
            Some(match dtype {
                $(<$type as Element>::DTYPE => vectorized!(fn(call: &Rowwise, units) {
                    // SAFETY: the kernel is chosen by the dtype of `$type`, and the conditions of a
                    // `HostKernel` are those of `each_row`.
                    unsafe { each_row::<$type, $row>(call, units) }
                }),)+
                _ => return None,
            })
        }
    )+};
}

rows! {
    softmax: f16 f32 f64 => Softmax;
    log_softmax: f16 f32 f64 => LogSoftmax;
    softmax_backward: f16 f32 f64 => SoftmaxBackward;
    log_softmax_backward: f16 f32 f64 => LogSoftmaxBackward;
}
