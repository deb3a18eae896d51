//! Resampling: each result is a sum of weighted elements, by a rule along each axis. Interpolation,
//! and padding with elements of the array, are such rules.
//!
//! Arrays are dense and seen as `[planes, depth, height, width]`; axes that are not resampled have a
//! rule that leaves them as they are. The gradient of the elements is the same sum with elements and
//! results exchanged: each element collects from the results that it is a part of, in a fixed order.

mod axis;

use std::marker::PhantomData;
use std::ops::Range;

use expression::DType;

use crate::instruction_set::{InstructionSet, Isa, Multiversioned};
use crate::pool;
use crate::shared_pointer::SharedPointer;
use crate::values::{BrainBits, ComputeValue, ConvertedFrom, HalfBits, StoredValue, stored_as};

pub use self::axis::{ResampleAxis, ResampleRule};

/// The direction of a resampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resampling {
    /// From elements to results.
    Forward,
    /// From the gradients of results to those of elements.
    Backward,
}

/// Resampling of elements of one dtype.
///
/// ```
/// use cpu_kernels::resample::{ResampleAxis, ResampleKernel, ResampleRule, Resampling};
/// use expression::DType;
///
/// let (x, mut padded) = ([1.0f32, 2.0, 3.0], [0.0f32; 5]);
/// let rule = ResampleRule::Reflect { before: 1 };
/// let one = ResampleAxis::unchanged(1);
/// let axes = [one, one, ResampleAxis { input: 3, output: 5, rule }];
/// let kernel = ResampleKernel::new(DType::F32, Resampling::Forward).expect("it is there");
/// // SAFETY: the arrays have three and five elements.
/// unsafe { kernel.run(1, axes, x.as_ptr().cast(), padded.as_mut_ptr().cast()) };
/// assert_eq!(padded, [2.0, 1.0, 2.0, 3.0, 2.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ResampleKernel {
    direction: Resampling,
    size: usize,
    run: unsafe fn(&ResampleKernel, ResampleCall),
    set: InstructionSet,
}

/// The arguments of a call.
struct ResampleCall {
    planes: usize,
    axes: [ResampleAxis; 3],
    input: SharedPointer<u8>,
    out: SharedPointer<u8>,
}

impl ResampleKernel {
    /// The kernel for a dtype, in the current instruction set; `None` if there is none: not for truth
    /// values, and backward for floats alone. Integers have weights of 0 and 1 only.
    pub fn new(dtype: DType, direction: Resampling) -> Option<ResampleKernel> {
        ResampleKernel::in_set(dtype, direction, InstructionSet::current())
    }

    /// [`ResampleKernel::new`] in a set that the processor has.
    pub fn in_set(
        dtype: DType,
        direction: Resampling,
        set: InstructionSet,
    ) -> Option<ResampleKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        macro_rules! by_dtype {
            ($($dtype:ident)+) => {
                match dtype {
                    $(DType::$dtype => resample_all::<stored_as!($dtype)>,)+
                    DType::Bool => return None,
                }
            };
        }
        if direction == Resampling::Backward && !dtype.is_float() {
            return None;
        }
        let run: unsafe fn(&ResampleKernel, ResampleCall) =
            by_dtype!(F64 F32 F16 BF16 I64 I32 I16 I8 U8);
        Some(ResampleKernel { direction, size: dtype.size(), run, set })
    }

    /// Resamples, in the threads of the pool if there is much to do. Backward, `input` has as many
    /// elements as there are results, and `out` as many as there are elements.
    ///
    /// # Safety
    /// `input` is valid for reads and `out` for writes of as many elements as the planes and axes say;
    /// nobody else writes the one or uses the other, and they do not overlap.
    pub unsafe fn run(
        &self,
        planes: usize,
        axes: [ResampleAxis; 3],
        input: *const u8,
        out: *mut u8,
    ) {
        let (input, out) = (SharedPointer::of_const(input), SharedPointer::new(out));
        // SAFETY: the function is the one for the dtype, and the addresses are valid for it
        // (conditions of this function).
        unsafe { (self.run)(self, ResampleCall { planes, axes, input, out }) }
    }
}

/// The parts of all targets along an axis: those of target `t` from `starts[t]` to `starts[t + 1]`.
struct AxisParts<V> {
    starts: Vec<usize>,
    sources: Vec<usize>,
    weights: Vec<V>,
    /// The number of elements that are read along the axis.
    source_size: usize,
    /// The number of parts of each target, if it is the same for all.
    each: Option<usize>,
}

impl<V: ComputeValue + ConvertedFrom<f64>> AxisParts<V> {
    fn of_axis(axis: &ResampleAxis, direction: Resampling) -> AxisParts<V> {
        match direction {
            Resampling::Forward => AxisParts::forward(axis),
            Resampling::Backward => AxisParts::backward(axis),
        }
    }

    fn forward(axis: &ResampleAxis) -> AxisParts<V> {
        let (mut starts, mut sources, mut weights) = (vec![0], Vec::new(), Vec::new());
        for output in 0..axis.output {
            axis.parts(output, |element, weight| {
                sources.push(element);
                weights.push(V::converted_from(weight));
            });
            starts.push(sources.len());
        }
        AxisParts::new(starts, sources, weights, axis.input)
    }

    /// The same parts by element, each with its results in order.
    fn backward(axis: &ResampleAxis) -> AxisParts<V> {
        let mut starts = vec![0; axis.input + 2];
        for output in 0..axis.output {
            axis.parts(output, |element, _| starts[element + 2] += 1);
        }
        for element in 2..starts.len() {
            starts[element] += starts[element - 1];
        }
        let count = starts[axis.input + 1];
        let (mut sources, mut weights) = (vec![0; count], vec![V::ZERO; count]);
        for output in 0..axis.output {
            axis.parts(output, |element, weight| {
                // Before the last part of an element is there, its successor's start is its end.
                let at = starts[element + 1];
                (sources[at], weights[at]) = (output, V::converted_from(weight));
                starts[element + 1] += 1;
            });
        }
        AxisParts::new(starts, sources, weights, axis.output)
    }

    fn new(
        starts: Vec<usize>,
        sources: Vec<usize>,
        weights: Vec<V>,
        source_size: usize,
    ) -> AxisParts<V> {
        let first = starts.get(1).copied().unwrap_or(0);
        let is_same = starts.windows(2).all(|pair| pair[1] - pair[0] == first);
        AxisParts { starts, sources, weights, source_size, each: is_same.then_some(first) }
    }

    fn of(&self, target: usize) -> (&[usize], &[V]) {
        let range: Range<usize> = self.starts[target]..self.starts[target + 1];
        (&self.sources[range.clone()], &self.weights[range])
    }
}

/// Bytes that could be moved in the time that a part takes.
const COST: usize = 16;

/// # Safety
/// The conditions of [`ResampleKernel::run`].
unsafe fn resample_all<S: StoredValue>(kernel: &ResampleKernel, call: ResampleCall)
where
    S::Compute: ConvertedFrom<f64>,
{
    let ResampleCall { planes, axes, input, out } = call;
    let parts =
        axes.each_ref().map(|axis| AxisParts::<S::Compute>::of_axis(axis, kernel.direction));
    let targets = axes.map(|axis| match kernel.direction {
        Resampling::Forward => axis.output,
        Resampling::Backward => axis.input,
    });
    let rows = planes * targets[0] * targets[1];
    let cost = (parts[2].source_size + parts[2].sources.len()) * COST + targets[2] * kernel.size;
    let run = kernel.set.version::<TargetRows<'_, S>>();
    pool::split(rows, cost, |rows| {
        // SAFETY: the addresses are valid (a condition of this function), and the rows are this
        // thread's alone; the processor has the set.
        unsafe { run(RowsWork { parts: &parts, targets, input, out, rows }) }
    });
}

/// Some rows of a call.
struct RowsWork<'a, V> {
    parts: &'a [AxisParts<V>; 3],
    targets: [usize; 3],
    input: SharedPointer<u8>,
    out: SharedPointer<u8>,
    rows: Range<usize>,
}

/// Rows of targets: the rows of sources that a row is made of are added up first, then what its
/// elements are made of.
struct TargetRows<'a, S>(PhantomData<&'a S>);

impl<'a, S: StoredValue> Multiversioned for TargetRows<'a, S>
where
    S::Compute: ConvertedFrom<f64>,
{
    type Arguments = RowsWork<'a, S::Compute>;
    type Output = ();

    /// # Safety
    /// The conditions of [`ResampleKernel::run`], for these rows.
    #[inline(always)]
    unsafe fn run<I: Isa>(work: Self::Arguments) {
        let [depth, height, width] = work.parts;
        let [_, rows_of_plane, targets] = work.targets;
        let mut sums = vec![S::Compute::ZERO; width.source_size];
        for row in work.rows.clone() {
            let (rest, y) = (row / rows_of_plane, row % rows_of_plane);
            let (plane, z) = (rest / work.targets[0], rest % work.targets[0]);
            // SAFETY: the row of targets is this thread's alone (a condition of this function).
            let to = unsafe {
                let first = work.out.get().cast::<S>().add(row * targets);
                std::slice::from_raw_parts_mut(first, targets)
            };
            // SAFETY: there are such rows of sources (a condition of this function).
            let source = |z: usize, y: usize| unsafe {
                let at = (plane * depth.source_size + z) * height.source_size + y;
                let first = work.input.get().cast::<S>().cast_const().add(at * width.source_size);
                std::slice::from_raw_parts(first, width.source_size)
            };
            let ((from_z, weights_z), (from_y, weights_y)) = (depth.of(z), height.of(y));
            let is_one = |weight: &S::Compute| *weight == S::Compute::ONE;
            if let ([z], [y], true) =
                (from_z, from_y, weights_z.iter().chain(weights_y).all(is_one))
            {
                let source = source(*z, *y);
                gather_row(to, width, |at| source[at].load());
                continue;
            }
            sums.fill(S::Compute::ZERO);
            let mut is_first = true;
            for (&z, &weight_z) in from_z.iter().zip(weights_z) {
                for (&y, &weight_y) in from_y.iter().zip(weights_y) {
                    add_row(&mut sums, source(z, y), weight_z.times(weight_y), is_first);
                    is_first = false;
                }
            }
            gather_row(to, width, |at| sums[at]);
        }
    }
}

/// Adds a weighted row to the sums, or puts it there if it is the first one.
#[inline(always)]
fn add_row<S: StoredValue>(
    sums: &mut [S::Compute],
    source: &[S],
    weight: S::Compute,
    is_first: bool,
) {
    if is_first {
        for (sum, element) in sums.iter_mut().zip(source) {
            *sum = element.load().times(weight);
        }
    } else {
        for (sum, element) in sums.iter_mut().zip(source) {
            *sum = sum.plus(element.load().times(weight));
        }
    }
}

/// Writes a row of targets, of the values of its sources.
#[inline(always)]
fn gather_row<S: StoredValue>(
    to: &mut [S],
    parts: &AxisParts<S::Compute>,
    value: impl Fn(usize) -> S::Compute,
) {
    match parts.each {
        Some(1) => gather_each::<S, 1>(to, parts, value),
        Some(2) => gather_each::<S, 2>(to, parts, value),
        Some(4) => gather_each::<S, 4>(to, parts, value),
        _ => {
            for (target, pair) in to.iter_mut().zip(parts.starts.windows(2)) {
                let range = pair[0]..pair[1];
                *target = S::store(gathered::<S::Compute>(
                    &parts.sources[range.clone()],
                    &parts.weights[range],
                    &value,
                ));
            }
        }
    }
}

/// [`gather_row`] where each target has so many parts.
#[inline(always)]
fn gather_each<S: StoredValue, const EACH: usize>(
    to: &mut [S],
    parts: &AxisParts<S::Compute>,
    value: impl Fn(usize) -> S::Compute,
) {
    let sources = parts.sources.as_chunks::<EACH>().0;
    let weights = parts.weights.as_chunks::<EACH>().0;
    for ((target, sources), weights) in to.iter_mut().zip(sources).zip(weights) {
        *target = S::store(gathered(sources, weights, &value));
    }
}

/// The sum of the weighted values of some sources.
#[inline(always)]
fn gathered<V: ComputeValue>(sources: &[usize], weights: &[V], value: impl Fn(usize) -> V) -> V {
    let mut parts = sources.iter().zip(weights).map(|(&at, &weight)| value(at).times(weight));
    let first = parts.next().unwrap_or(V::ZERO);
    parts.fold(first, V::plus)
}
