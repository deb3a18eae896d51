//! CPU kernels of reductions.
//!
//! A row is reduced in [`LANES`] independent partial results; where the elements of an output lie
//! far apart (columns of a matrix), [`COLUMNS`] outputs are reduced side by side, so that each
//! cache line is read once; a single huge output is split into chunks for the threads of the pool.
//!
//! Long ranges are halved, and the results of the halves combined: pairwise summation, whose error
//! grows with the logarithm of the number of terms (N. Higham, "The Accuracy of Floating Point
//! Summation", SIAM J. Sci. Comput. 14, 1993). The tree of additions depends on the sizes alone, so
//! the result is the same whatever the number of threads.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr;

use half::f16;
use smallvec::SmallVec;

use super::arithmetic::{Arithmetic, Float};
use super::element::Stored;
use super::walk::for_each_run;
use crate::dispatch::HostKernel;
use crate::dispatch::abi::Reduce;
use crate::thread_pool;
use crate::{DType, Element};

/// The number of independent partial results of a row, so that no addition waits for the one
/// before.
const LANES: usize = 8;

/// The number of outputs that are reduced side by side where the elements of one are far apart.
const COLUMNS: usize = 64;

/// The most elements that are reduced one after the other; a longer range is halved.
const LEAF: usize = 512;

/// The number of elements that a thread reduces at a time. It does not depend on the number of
/// threads, so that the result does not either.
const CHUNK: usize = 1 << 15;

/// A reduction: the state of a part, how states are combined, and the result of the last one.
trait Reducer {
    type Input: Stored;
    type Output: Stored;
    type State: Copy + Send + Sync;
    /// The state of no elements.
    const START: Self::State;

    /// The state of one element, with its index among those that are reduced.
    fn of(value: <Self::Input as Stored>::Value, index: usize) -> Self::State;
    /// The state of two parts together.
    fn merge(a: Self::State, b: Self::State) -> Self::State;
    /// The result, with the number of elements that were reduced.
    fn finish(state: Self::State, count: usize) -> <Self::Output as Stored>::Value;
}

/// Defines reducers whose state is a value, by `START`, `merge` and `finish`.
macro_rules! reducers {
    ($($name:ident($bound:path): $start:expr, $merge:expr, $finish:expr;)+) => {$(
        struct $name<T>(PhantomData<T>);

        impl<T: Stored> Reducer for $name<T>
        where
            T::Value: $bound,
        {
            type Input = T;
            type Output = T;
            type State = T::Value;
            const START: T::Value = $start;

            #[inline(always)]
            fn of(value: T::Value, _index: usize) -> T::Value {
                value
            }

            #[inline(always)]
            fn merge(a: T::Value, b: T::Value) -> T::Value {
                let merge: fn(T::Value, T::Value) -> T::Value = $merge;
                merge(a, b)
            }

            fn finish(state: T::Value, count: usize) -> T::Value {
                let finish: fn(T::Value, usize) -> T::Value = $finish;
                finish(state, count)
            }
        }
    )+};
}

reducers! {
    Sum(Arithmetic): T::Value::ZERO, Arithmetic::plus, |state, _| state;
    Prod(Arithmetic): T::Value::ONE, Arithmetic::times, |state, _| state;
    Mean(Float): T::Value::ZERO, Arithmetic::plus, |sum, count| sum.divide(Float::of_count(count));
    Amax(Arithmetic): T::Value::LEAST, Arithmetic::larger, |state, _| state;
    Amin(Arithmetic): T::Value::GREATEST, Arithmetic::smaller, |state, _| state;
}

/// The index of the first element that has the value which `R` finds, or of the first NaN.
struct FirstIndex<R>(PhantomData<R>);

impl<V, R> Reducer for FirstIndex<R>
where
    V: Arithmetic + Send + Sync,
    R: Reducer<State = V>,
    R::Input: Stored<Value = V>,
{
    type Input = R::Input;
    type Output = i64;
    type State = (V, usize);
    // Any element comes before this index, also where its value is the extreme of its dtype.
    const START: (V, usize) = (R::START, usize::MAX);

    #[inline(always)]
    fn of(value: V, index: usize) -> (V, usize) {
        (value, index)
    }

    #[inline(always)]
    fn merge(a: (V, usize), b: (V, usize)) -> (V, usize) {
        let first = if a.1 < b.1 { a } else { b };
        match (a.0.is_unordered(), b.0.is_unordered()) {
            (true, false) => a,
            (false, true) => b,
            (true, true) => first,
            _ if a.0 == b.0 => first,
            _ if R::merge(a.0, b.0) == a.0 => a,
            _ => b,
        }
    }

    fn finish(state: (V, usize), _count: usize) -> i64 {
        state.1 as i64
    }
}

macro_rules! reductions {
    ($($name:ident: $($type:ident)+ => $reducer:ty;)+) => {$(
        pub(crate) fn $name(dtype: DType) -> Option<HostKernel<Reduce>> {
            Some(match dtype {
                $(<$type as Element>::DTYPE => {
                    type T = $type;
                    fold_all::<$reducer>
                })+
                #[allow(unreachable_patterns, reason = "some tables have all dtypes")]
                _ => return None,
            })
        }
    )+};
}

reductions! {
    sum: f16 f32 f64 i64 => Sum<T>;
    prod: f16 f32 f64 i64 => Prod<T>;
    mean: f16 f32 f64 => Mean<T>;
    amax: f16 f32 f64 i64 u8 bool => Amax<T>;
    amin: f16 f32 f64 i64 u8 bool => Amin<T>;
    argmax: f16 f32 f64 i64 u8 bool => FirstIndex<Amax<T>>;
    argmin: f16 f32 f64 i64 u8 bool => FirstIndex<Amin<T>>;
    any: bool => Amax<T>;
    all: bool => Amin<T>;
}

/// Reduces the outputs `units`.
///
/// # Safety
/// The conditions of a `HostKernel`; a unit is an output.
unsafe fn fold_all<R: Reducer>(call: &Reduce, units: Range<usize>) {
    let input = ptr::with_exposed_provenance::<RawOf<R::Input>>(call.input as usize);
    let output = ptr::with_exposed_provenance_mut::<RawOf<R::Output>>(call.output as usize);
    let dims = call.output_dims as usize;
    let count = call.reduced as usize;
    let write = |at: usize, state: R::State| {
        // SAFETY: the output has an element for each unit, and nobody else uses those of this call
        // (conditions of this function).
        unsafe { *output.add(at) = R::Output::store(R::finish(state, count)) };
    };
    let (sizes, strides) = (&call.output_sizes[..dims], &call.output_strides[..dims]);
    let step = strides.last().map_or(0, |&stride| stride as isize);
    let side_by_side = columns_are_closer(call);
    for_each_run(sizes, [strides], units, |first, [origin], len| {
        // SAFETY: the offsets are those of outputs of this call, whose elements lie in the input's
        // memory, which nobody writes (conditions of this function).
        unsafe {
            if side_by_side {
                for start in (0..len).step_by(COLUMNS) {
                    let columns = input.offset(origin + start as isize * step);
                    let width = COLUMNS.min(len - start);
                    let states = fold_columns::<R>(call, columns, step, width, 0..count);
                    for (column, &state) in states[..width].iter().enumerate() {
                        write(first + start + column, state);
                    }
                }
            } else {
                for at in 0..len {
                    let row = input.offset(origin + at as isize * step);
                    write(first + at, fold_one::<R>(call, row));
                }
            }
        }
    });
}

/// An element of `T` as it lies in memory.
type RawOf<T> = <T as Stored>::Raw;

/// Whether neighbouring outputs are nearer in memory than the elements that one output is made of.
fn columns_are_closer(call: &Reduce) -> bool {
    let innermost = |strides: &[i64], dims: i32| strides[..dims as usize].last().copied();
    let kept = innermost(&call.output_strides, call.output_dims);
    let folded = innermost(&call.reduced_strides, call.reduced_dims);
    kept.zip(folded).is_some_and(|(kept, folded)| kept.abs() < folded.abs())
}

/// Reduces the elements `folded` of each of `width` neighbouring outputs, side by side.
///
/// # Safety
/// The call's elements of each of the columns lie in memory that nobody writes, at a distance of
/// `step` from those of the column before.
unsafe fn fold_columns<R: Reducer>(
    call: &Reduce,
    columns: *const RawOf<R::Input>,
    step: isize,
    width: usize,
    folded: Range<usize>,
) -> [R::State; COLUMNS] {
    if folded.len() > LEAF {
        let [first, second] = halves(folded);
        // SAFETY: the halves are parts of `folded`, of which all elements lie in memory (a
        // condition of this function).
        let (mut states, others) = unsafe {
            (
                fold_columns::<R>(call, columns, step, width, first),
                fold_columns::<R>(call, columns, step, width, second),
            )
        };
        for (state, other) in states[..width].iter_mut().zip(others) {
            *state = R::merge(*state, other);
        }
        return states;
    }
    let mut states = [R::START; COLUMNS];
    let dims = call.reduced_dims as usize;
    let strides = &call.reduced_strides[..dims];
    let stride = strides.last().map_or(0, |&stride| stride as isize);
    for_each_run(&call.reduced_sizes[..dims], [strides], folded, |first, [offset], len| {
        for index in 0..len {
            let row = offset + index as isize * stride;
            for (column, state) in states[..width].iter_mut().enumerate() {
                // SAFETY: the element is one of a column's, which lie in memory that nobody writes
                // (a condition of this function).
                let value =
                    R::Input::load(unsafe { *columns.offset(row + column as isize * step) });
                *state = R::merge(*state, R::of(value, first + index));
            }
        }
    });
    states
}

/// The two halves of a range. The first one is a multiple of [`LANES`] long, so that only the last
/// leaf has elements that do not fill all lanes.
fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + (range.len() / 2).next_multiple_of(LANES);
    [range.start..middle, middle..range.end]
}

/// Reduces one output in chunks, and those of a single huge output on the pool.
///
/// # Safety
/// The call's elements of one output, counted from `row`, lie in memory that nobody writes.
unsafe fn fold_one<R: Reducer>(call: &Reduce, row: *const RawOf<R::Input>) -> R::State {
    let count = call.reduced as usize;
    let chunks = count.div_ceil(CHUNK);
    let address = row.expose_provenance();
    let chunk = |index: usize| {
        let range = index * CHUNK..count.min((index + 1) * CHUNK);
        // SAFETY: the chunk is a part of the output's elements, all of which lie in memory that
        // nobody writes (a condition of this function); this thread waits for those of the pool.
        unsafe { fold_range::<R>(call, ptr::with_exposed_provenance(address), range) }
    };
    if chunks > 1 && call.outputs == 1 {
        return merge_all::<R>(&thread_pool::map(chunks, chunk));
    }
    // The same chunks combined in the same order, so that a row gives the same alone or among
    // others.
    merge_all::<R>(&(0..chunks).map(chunk).collect::<SmallVec<[_; 1]>>())
}

/// The state of all parts together, combined pairwise.
fn merge_all<R: Reducer>(states: &[R::State]) -> R::State {
    match states {
        [] => R::START,
        [state] => *state,
        _ => {
            let (first, second) = states.split_at(states.len() / 2);
            R::merge(merge_all::<R>(first), merge_all::<R>(second))
        }
    }
}

/// Reduces the elements `range` of those that one output is made of.
///
/// # Safety
/// They lie in memory that nobody writes, counted from `row`.
unsafe fn fold_range<R: Reducer>(
    call: &Reduce,
    row: *const RawOf<R::Input>,
    range: Range<usize>,
) -> R::State {
    if range.len() > LEAF {
        // SAFETY: the halves are parts of `range`, of which all elements lie in memory (a condition
        // of this function).
        let [first, second] = halves(range).map(|half| unsafe { fold_range::<R>(call, row, half) });
        return R::merge(first, second);
    }
    let dims = call.reduced_dims as usize;
    let strides = &call.reduced_strides[..dims];
    let stride = strides.last().map_or(0, |&stride| stride as isize);
    let mut state = R::START;
    for_each_run(&call.reduced_sizes[..dims], [strides], range, |first, [offset], len| {
        // SAFETY: the run is a part of `range`, of which all elements lie in memory that nobody
        // writes (a condition of this function).
        let run = unsafe {
            let start = row.offset(offset);
            match stride {
                1 => fold_run::<R>(start, 1, first, len),
                _ => fold_run::<R>(start, stride, first, len),
            }
        };
        state = R::merge(state, run);
    });
    state
}

/// Reduces `len` elements that lie `stride` apart, the first of which has the index `first`.
///
/// # Safety
/// They lie in memory that nobody writes.
#[inline(always)]
unsafe fn fold_run<R: Reducer>(
    start: *const RawOf<R::Input>,
    stride: isize,
    first: usize,
    len: usize,
) -> R::State {
    let mut lanes = [R::START; LANES];
    let of = |index: usize| {
        // SAFETY: `index` is below `len`, and the elements lie in memory (a condition of this
        // function).
        let value = R::Input::load(unsafe { *start.offset(index as isize * stride) });
        R::of(value, first + index)
    };
    let whole = len - len % LANES;
    for group in (0..whole).step_by(LANES) {
        for (lane, state) in lanes.iter_mut().enumerate() {
            *state = R::merge(*state, of(group + lane));
        }
    }
    for index in whole..len {
        lanes[index - whole] = R::merge(lanes[index - whole], of(index));
    }
    let [a, b, c, d, e, f, g, h] = lanes;
    let (ab, cd, ef, gh) = (R::merge(a, b), R::merge(c, d), R::merge(e, f), R::merge(g, h));
    R::merge(R::merge(ab, cd), R::merge(ef, gh))
}
