//! Pooling forward: the rows of the results.
//!
//! Windows that lie in the array as a whole are folded some side by side, so that the loop over them
//! becomes vectors for every size of windows; each sees its elements in the order in which they lie.

use std::array;
use std::marker::PhantomData;

use super::PoolWork;
use super::axis::{WindowSpan, Windows};
use crate::instruction_set::{Isa, Multiversioned};
use crate::values::{ComputeValue, StoredValue};

/// The windows that are folded side by side.
const LANES: usize = 8;

/// A fold of the elements of a window.
pub(super) trait WindowFold: 'static {
    /// Whether the place of an element is a result, too.
    const HAS_PLACES: bool;
    /// Whether the fold is divided by the number of elements.
    const IS_AVERAGE: bool;

    fn start<V: ComputeValue>() -> V;

    /// Takes an element that lies at a place.
    fn take<V: ComputeValue>(folded: &mut V, place: &mut i64, element: V, at: i64);
}

/// The largest element, and perhaps its place.
pub(super) struct Largest<const PLACES: bool>;

impl<const PLACES: bool> WindowFold for Largest<PLACES> {
    const HAS_PLACES: bool = PLACES;
    const IS_AVERAGE: bool = false;

    #[inline(always)]
    fn start<V: ComputeValue>() -> V {
        V::LEAST
    }

    #[inline(always)]
    fn take<V: ComputeValue>(folded: &mut V, place: &mut i64, element: V, at: i64) {
        let is_larger = (element > *folded) | element.is_unordered();
        *folded = if is_larger { element } else { *folded };
        if PLACES {
            *place = if is_larger { at } else { *place };
        }
    }
}

/// The average.
pub(super) struct Average;

impl WindowFold for Average {
    const HAS_PLACES: bool = false;
    const IS_AVERAGE: bool = true;

    #[inline(always)]
    fn start<V: ComputeValue>() -> V {
        V::ZERO
    }

    #[inline(always)]
    fn take<V: ComputeValue>(folded: &mut V, _place: &mut i64, element: V, _at: i64) {
        *folded = folded.plus(element);
    }
}

/// Rows of results of a fold, of elements `S`.
pub(super) struct WindowRows<F, S>(PhantomData<(F, S)>);

impl<F: WindowFold, S: StoredValue> Multiversioned for WindowRows<F, S> {
    type Arguments = PoolWork;
    type Output = ();

    /// # Safety
    /// The conditions of `PoolKernel::run`, for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: PoolWork) {
        for row in work.rows.clone() {
            // SAFETY: the row is one of the call's (a condition of this function).
            unsafe { ResultRow::<S>::new(&work, row).fill::<F>() };
        }
    }
}

/// A row of results, and the elements that its windows have along depth and height.
struct ResultRow<'a, S> {
    work: &'a PoolWork,
    /// The plane of the elements.
    plane: *const S,
    depth: WindowSpan,
    height: WindowSpan,
    /// The elements along depth and height that an average is divided by.
    across: usize,
    out: *mut S,
    places: Option<*mut i64>,
}

impl<'a, S: StoredValue> ResultRow<'a, S> {
    /// # Safety
    /// There is such a row.
    #[inline(always)]
    unsafe fn new(work: &'a PoolWork, row: usize) -> ResultRow<'a, S> {
        let [depth, height, width] = work.shape.axes;
        let (rest, y) = (row / height.output, row % height.output);
        let (plane, z) = (rest / depth.output, rest % depth.output);
        let inputs = depth.input * height.input * width.input;
        let first = row * width.output;
        // SAFETY: the plane and the row lie in the arrays (a condition of this function).
        unsafe {
            ResultRow {
                work,
                plane: work.input.get().cast::<S>().cast_const().add(plane * inputs),
                depth: depth.span(z),
                height: height.span(y),
                across: depth.length(z, work.counts_padding)
                    * height.length(y, work.counts_padding),
                out: work.out.get().cast::<S>().add(first),
                places: work.places.map(|places| places.get().add(first)),
            }
        }
    }

    /// # Safety
    /// The conditions of `PoolKernel::run`.
    #[inline(always)]
    unsafe fn fill<F: WindowFold>(&self) {
        let width = self.work.shape.axes[2];
        let whole = width.whole();
        let mut x = 0;
        while x < width.output {
            // SAFETY: the windows are those of the row, and lie in the array as a whole where
            // several are folded; a block that would end after them begins earlier.
            unsafe {
                if !whole.contains(&x) || whole.len() < LANES {
                    self.one::<F>(x);
                    x += 1;
                } else {
                    self.block::<F>(x.min(whole.end - LANES));
                    x = (x + LANES).min(whole.end);
                }
            }
        }
    }

    /// Folds window `x` of the row.
    ///
    /// # Safety
    /// There is such a window.
    #[inline(always)]
    unsafe fn one<F: WindowFold>(&self, x: usize) {
        let [_, height, width] = self.work.shape.axes;
        let span = width.span(x);
        let (mut folded, mut place) = (F::start(), self.first_place(span.first));
        for z in self.depth.places() {
            for y in self.height.places() {
                let row = (z * height.input + y) * width.input;
                for at in span.places() {
                    // SAFETY: the spans lie in the plane.
                    let element = unsafe { self.plane.add(row + at).read() };
                    F::take(&mut folded, &mut place, element.load(), (row + at) as i64);
                }
            }
        }
        // SAFETY: there is such a window.
        unsafe { self.write::<F>(x, folded, place) };
    }

    /// Folds the windows from `x` on, [`LANES`] of them.
    ///
    /// # Safety
    /// All lie in the array as a whole.
    #[inline(always)]
    unsafe fn block<F: WindowFold>(&self, x: usize) {
        let width = self.work.shape.axes[2];
        let Windows::Sliding { kernel, stride, dilation, .. } = width.windows else {
            unreachable!("only sliding windows are folded side by side")
        };
        let first = width.span(x).first;
        let last = first + (kernel - 1) * dilation + 2 * LANES;
        // SAFETY: the lanes lie in the rows; those that are loaded as pairs with what follows, too.
        unsafe {
            match stride {
                1 => self.lanes::<F, 1>(x, first, 1),
                2 if last <= width.input => self.lanes::<F, 2>(x, first, 2),
                _ => self.lanes::<F, 0>(x, first, stride),
            }
        }
    }

    /// [`ResultRow::block`] of windows `stride` apart, whose first elements lie from `first` on. The
    /// stride is `STRIDE`, unless that is 0.
    ///
    /// # Safety
    /// As of `block`; with a `STRIDE` of 2, an element follows the last one in each row.
    #[inline(always)]
    unsafe fn lanes<F: WindowFold, const STRIDE: usize>(
        &self,
        x: usize,
        first: usize,
        stride: usize,
    ) {
        let [_, height, width] = self.work.shape.axes;
        let Windows::Sliding { kernel, dilation, .. } = width.windows else { return };
        let stride = if STRIDE == 0 { stride } else { STRIDE };
        let mut folded: [S::Compute; LANES] = [F::start(); LANES];
        let mut places: [i64; LANES] =
            array::from_fn(|lane| self.first_place(first + lane * stride));
        for z in self.depth.places() {
            for y in self.height.places() {
                let row = (z * height.input + y) * width.input;
                for at in 0..kernel {
                    let start = row + first + at * dilation;
                    // SAFETY: a condition of this function.
                    let elements = unsafe { strided::<S, STRIDE>(self.plane.add(start), stride) };
                    for lane in 0..LANES {
                        let place = (start + lane * stride) as i64;
                        let element = elements[lane].load();
                        F::take(&mut folded[lane], &mut places[lane], element, place);
                    }
                }
            }
        }
        for lane in 0..LANES {
            // SAFETY: there are such windows (a condition of this function).
            unsafe { self.write::<F>(x + lane, folded[lane], places[lane]) };
        }
    }

    /// The place of the first element of a window that begins at `x`, which is the result where no
    /// element is larger than the least number.
    #[inline(always)]
    fn first_place(&self, x: usize) -> i64 {
        let [_, height, width] = self.work.shape.axes;
        let x = x.min(width.input - 1);
        ((self.depth.first * height.input + self.height.first) * width.input + x) as i64
    }

    /// # Safety
    /// The row has a window `x`.
    #[inline(always)]
    unsafe fn write<F: WindowFold>(&self, x: usize, folded: S::Compute, place: i64) {
        let width = &self.work.shape.axes[2];
        let value = match F::IS_AVERAGE {
            true => {
                let length = || self.across * width.length(x, self.work.counts_padding);
                folded.per(self.work.divisor.unwrap_or_else(length).max(1))
            }
            false => folded,
        };
        // SAFETY: a condition of this function.
        unsafe {
            self.out.add(x).write(S::store(value));
            if let (true, Some(places)) = (F::HAS_PLACES, self.places) {
                places.add(x).write(place);
            }
        }
    }
}

/// Elements that lie `stride` apart.
///
/// # Safety
/// They are there, and with a `STRIDE` of 2 one more after the last.
#[inline(always)]
unsafe fn strided<S: Copy, const STRIDE: usize>(start: *const S, stride: usize) -> [S; LANES] {
    // SAFETY: a condition of this function.
    unsafe {
        match STRIDE {
            1 => start.cast::<[S; LANES]>().read(),
            2 => {
                let pairs = start.cast::<[[S; 2]; LANES]>().read();
                array::from_fn(|lane| pairs[lane][0])
            }
            _ => array::from_fn(|lane| start.add(lane * stride).read()),
        }
    }
}
