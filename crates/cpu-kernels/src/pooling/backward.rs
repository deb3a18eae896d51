//! Gradients of pooling: each row of elements collects from the windows that reach over it.

use std::marker::PhantomData;
use std::slice;

use super::PoolWork;
use super::axis::WindowSpan;
use crate::instruction_set::{Isa, Multiversioned};
use crate::values::{ComputeValue, StoredValue};

/// The gradients of elements whose windows gave the largest one: each window's gradient goes to the
/// element at its place.
pub(super) struct LargestGradient<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for LargestGradient<S> {
    type Arguments = PoolWork;
    type Output = ();

    /// # Safety
    /// The conditions of `PoolBackwardKernel::run`, for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: PoolWork) {
        let Some(places) = work.places else { return };
        let width = work.shape.axes[2];
        let collect = |sums: &mut [S::Compute], windows: &WindowsRow<'_, S>| {
            // SAFETY: there is a place for each output (a condition of this function).
            let places = unsafe {
                slice::from_raw_parts(places.get().add(windows.start), windows.gradients.len())
            };
            let first = (windows.element_row * width.input) as i64;
            let Some(outside) = sums.len().checked_sub(1) else { return };
            for (gradient, place) in windows.gradients.iter().zip(places) {
                // Without a branch: which row an element is in is hard to foresee.
                let at = (place.wrapping_sub(first) as usize).min(outside);
                sums[at] = sums[at].plus(gradient.load());
            }
        };
        // SAFETY: the conditions of this function.
        unsafe { each_row::<S>(&work, collect) }
    }
}

/// The gradients of elements whose windows gave the average: each has its share of each window's.
pub(super) struct AverageGradient<S>(PhantomData<S>);

impl<S: StoredValue> Multiversioned for AverageGradient<S> {
    type Arguments = PoolWork;
    type Output = ();

    /// # Safety
    /// The conditions of `PoolBackwardKernel::run`, for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: PoolWork) {
        let [depth, height, width] = work.shape.axes;
        let along: Vec<(WindowSpan, usize)> = (0..width.output)
            .map(|x| (width.span(x), width.length(x, work.counts_padding)))
            .collect();
        let collect = |sums: &mut [S::Compute], windows: &WindowsRow<'_, S>| {
            let across = depth.length(windows.z, work.counts_padding)
                * height.length(windows.y, work.counts_padding);
            for (gradient, (span, length)) in windows.gradients.iter().zip(&along) {
                let share = gradient.load().per(work.divisor.unwrap_or(across * length).max(1));
                for sum in &mut sums[span.first..][..span.count] {
                    *sum = sum.plus(share);
                }
            }
        };
        // SAFETY: the conditions of this function.
        unsafe { each_row::<S>(&work, collect) }
    }
}

/// The windows of a row of outputs.
struct WindowsRow<'a, S> {
    z: usize,
    y: usize,
    /// The position of the first one among all outputs.
    start: usize,
    gradients: &'a [S],
    /// The row of elements that collects, in its plane.
    element_row: usize,
}

/// Calls `collect` for each row of windows that reach over each row of elements, with the sums that
/// are the gradients of these.
///
/// # Safety
/// The conditions of `PoolBackwardKernel::run`, for these rows.
#[inline(always)]
unsafe fn each_row<S: StoredValue>(
    work: &PoolWork,
    collect: impl Fn(&mut [S::Compute], &WindowsRow<'_, S>),
) {
    let [depth, height, width] = work.shape.axes;
    let mut sums = vec![S::Compute::ZERO; width.input + 1];
    for row in work.rows.clone() {
        sums.fill(S::Compute::ZERO);
        let (rest, y) = (row / height.input, row % height.input);
        let (plane, z) = (rest / depth.input, rest % depth.input);
        for from_z in depth.covering(z) {
            for from_y in height.covering(y) {
                let outputs = (plane * depth.output + from_z) * height.output + from_y;
                let start = outputs * width.output;
                // SAFETY: the windows are those of the call (a condition of this function).
                let gradients = unsafe {
                    let first = work.input.get().cast::<S>().cast_const().add(start);
                    slice::from_raw_parts(first, width.output)
                };
                let element_row = z * height.input + y;
                collect(
                    &mut sums,
                    &WindowsRow { z: from_z, y: from_y, start, gradients, element_row },
                );
            }
        }
        for (at, &sum) in sums[..width.input].iter().enumerate() {
            // SAFETY: the row of elements is this thread's alone (a condition of this function).
            unsafe { work.out.get().cast::<S>().add(row * width.input + at).write(S::store(sum)) };
        }
    }
}
