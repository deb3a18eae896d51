//! CPU kernels of reductions: rows folded in lanes, columns side by side, huge ones in chunks.

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

/// Independent partial results, so that the additions of a row do not wait for each other.
const LANES: usize = 8;

/// Outputs that are folded side by side where the elements of one are far apart.
const COLUMNS: usize = 64;

/// Elements that are folded one after the other. More are halved, and the halves' results joined:
/// so the error of a sum grows with the logarithm of their number.
const LEAF: usize = 512;

/// Elements that a thread folds at a time. Chunks do not depend on how many threads there are, so
/// neither does the result.
const CHUNK: usize = 1 << 15;

/// What is kept while folding, what nothing and one element amount to, how two parts join, and what
/// is written in the end.
trait Reducer {
    type Input: Stored;
    type Output: Stored;
    type State: Copy + Send + Sync;
    const START: Self::State;

    /// One element, at `index` among those that are folded.
    fn of(value: <Self::Input as Stored>::Value, index: usize) -> Self::State;
    fn merge(a: Self::State, b: Self::State) -> Self::State;
    fn finish(state: Self::State, count: usize) -> <Self::Output as Stored>::Value;
}

/// Reducers whose state is a value: START, how two values join, and how the result ends.
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

/// The first place of the value that `R` finds, or of the first NaN.
struct FirstPlace<R>(PhantomData<R>);

impl<V, R> Reducer for FirstPlace<R>
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
    argmax: f16 f32 f64 i64 u8 bool => FirstPlace<Amax<T>>;
    argmin: f16 f32 f64 i64 u8 bool => FirstPlace<Amin<T>>;
    any: bool => Amax<T>;
    all: bool => Amin<T>;
}

/// # Safety
/// As `HostKernel`; a unit is an output.
unsafe fn fold_all<R: Reducer>(call: &Reduce, units: Range<usize>) {
    let input = ptr::with_exposed_provenance::<Raw<R::Input>>(call.input as usize);
    let output = ptr::with_exposed_provenance_mut::<Raw<R::Output>>(call.output as usize);
    let dims = call.output_dims as usize;
    let count = call.reduced as usize;
    let write = |at: usize, state: R::State| {
        // SAFETY: the output has an element for each unit.
        unsafe { *output.add(at) = R::Output::store(R::finish(state, count)) };
    };
    let (sizes, strides) = (&call.output_sizes[..dims], &call.output_strides[..dims]);
    let step = strides.last().map_or(0, |&stride| stride as isize);
    let side_by_side = columns_are_closer(call);
    for_each_run(sizes, [strides], units, |first, [origin], len| {
        // SAFETY: the walk stays within the input, by the caller's promise.
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

type Raw<T> = <T as Stored>::Raw;

/// Whether going along the outputs is nearer in memory than going along what is folded.
fn columns_are_closer(call: &Reduce) -> bool {
    let innermost = |strides: &[i64], dims: i32| strides[..dims as usize].last().copied();
    let kept = innermost(&call.output_strides, call.output_dims);
    let folded = innermost(&call.reduced_strides, call.reduced_dims);
    kept.zip(folded).is_some_and(|(kept, folded)| kept.abs() < folded.abs())
}

/// Folds the elements `folded` of each of `width` neighbouring outputs, side by side.
///
/// # Safety
/// The call's reduced elements of each of the columns lie in memory.
unsafe fn fold_columns<R: Reducer>(
    call: &Reduce,
    columns: *const Raw<R::Input>,
    step: isize,
    width: usize,
    folded: Range<usize>,
) -> [R::State; COLUMNS] {
    if folded.len() > LEAF {
        let [first, second] = halves(folded);
        // SAFETY: the caller's promise, for parts of the elements.
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
                // SAFETY: the caller's promise.
                let value =
                    R::Input::load(unsafe { *columns.offset(row + column as isize * step) });
                *state = R::merge(*state, R::of(value, first + index));
            }
        }
    });
    states
}

fn halves(range: Range<usize>) -> [Range<usize>; 2] {
    let middle = range.start + (range.len() / 2).next_multiple_of(LANES);
    [range.start..middle, middle..range.end]
}

/// Folds one output, in chunks: those of a huge one on the pool, when it is alone.
///
/// # Safety
/// The call's reduced elements, counted from `row`, lie in memory.
unsafe fn fold_one<R: Reducer>(call: &Reduce, row: *const Raw<R::Input>) -> R::State {
    let count = call.reduced as usize;
    let chunks = count.div_ceil(CHUNK);
    let address = row.expose_provenance();
    let chunk = |index: usize| {
        let range = index * CHUNK..count.min((index + 1) * CHUNK);
        // SAFETY: the caller's promise, for a part of the elements.
        unsafe { fold_range::<R>(call, ptr::with_exposed_provenance(address), range) }
    };
    if chunks > 1 && call.outputs == 1 {
        return merge_all::<R>(&thread_pool::map(chunks, chunk));
    }
    // The same chunks joined in the same way, so that a row gives the same alone or among others.
    merge_all::<R>(&(0..chunks).map(chunk).collect::<SmallVec<[_; 1]>>())
}

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

/// Folds the elements `range` of those that one output is made of.
///
/// # Safety
/// They lie in memory, counted from `row`.
unsafe fn fold_range<R: Reducer>(
    call: &Reduce,
    row: *const Raw<R::Input>,
    range: Range<usize>,
) -> R::State {
    if range.len() > LEAF {
        // SAFETY: the caller's promise, for parts of the elements.
        let [first, second] = halves(range).map(|half| unsafe { fold_range::<R>(call, row, half) });
        return R::merge(first, second);
    }
    let dims = call.reduced_dims as usize;
    let strides = &call.reduced_strides[..dims];
    let stride = strides.last().map_or(0, |&stride| stride as isize);
    let mut state = R::START;
    for_each_run(&call.reduced_sizes[..dims], [strides], range, |first, [offset], len| {
        // SAFETY: the caller's promise.
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

/// Folds `len` elements that lie `stride` apart, the first of which is number `first`.
///
/// # Safety
/// They lie in memory.
#[inline(always)]
unsafe fn fold_run<R: Reducer>(
    start: *const Raw<R::Input>,
    stride: isize,
    first: usize,
    len: usize,
) -> R::State {
    let mut lanes = [R::START; LANES];
    let of = |index: usize| {
        // SAFETY: the caller's promise.
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
