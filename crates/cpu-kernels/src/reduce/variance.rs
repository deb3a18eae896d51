//! Variances and means, in `f64`, from the moments of blocks.

use std::mem::MaybeUninit;
use std::ops::Range;

use expression::DType;

use super::columns::CHUNK_ROWS;
use super::fold::{Added, Columns, FoldColumns};
use super::moments::{BlockMoments, DenseValues, MomentsOfValues};
use super::rows::{CHUNK, LEAF, pairwise};
use super::source::{ReducedInput, ReducedSource};
use crate::convert::{Loaded, Store};
use crate::instruction_set::{InstructionSet, Isa, Multiversioned, Version};
use crate::pool;
use crate::shared_pointer::SharedPointer;

/// The variances of floats of one dtype, or their roots.
#[derive(Clone, Copy, Debug)]
pub struct VarianceKernel {
    dtype: DType,
    set: InstructionSet,
    store: Store,
}

/// The results of a [`VarianceKernel`], each of which may be left out: addresses of an element of
/// the kernel's dtype for each output.
#[derive(Clone, Copy, Debug, Default)]
pub struct VarianceResults {
    /// The variances.
    pub variances: Option<*mut u8>,
    /// The standard deviations, the roots of the variances.
    pub deviations: Option<*mut u8>,
    /// The means.
    pub means: Option<*mut u8>,
}

/// A result from the moments of an output's elements.
type ResultOfMoments<'a> = dyn Fn(&BlockMoments<f64>) -> f64 + 'a;

impl VarianceKernel {
    /// The kernel for a floating-point dtype, in the current instruction set; `None` for others.
    pub fn new(dtype: DType) -> Option<VarianceKernel> {
        VarianceKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`VarianceKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<VarianceKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        Some(VarianceKernel { dtype, set, store: f64::store_to(dtype, set)? })
    }

    /// Computes the variances: the sum of squared distances from the mean, divided by the number of
    /// elements less `correction`, or by 0 where that is negative.
    ///
    /// # Panics
    /// The elements are of another dtype than the kernel's.
    ///
    /// # Safety
    /// The elements of the input are valid for reads, and nobody writes them; the results are valid
    /// for writes of an element for each output, and nobody else uses them.
    pub unsafe fn run(&self, input: &ReducedInput<'_>, correction: f64, results: VarianceResults) {
        assert_eq!(input.dtype, self.dtype, "variances of {}", self.dtype);
        let source =
            ReducedSource::<f64>::new(input, self.set).expect("the kernel is for this dtype");
        let (outputs, count) = (source.outputs(), source.count());
        let places = [results.variances, results.deviations, results.means]
            .map(|place| place.map(SharedPointer::new));
        let finish = |first: usize, moments: &[BlockMoments<f64>]| {
            let variance =
                |of: &BlockMoments<f64>| of.squares / (of.count as f64 - correction).max(0.0);
            let mean = |of: &BlockMoments<f64>| if of.count == 0 { f64::NAN } else { of.mean };
            let values: [&ResultOfMoments<'_>; 3] = [&variance, &|of| variance(of).sqrt(), &mean];
            for (place, value) in places.iter().zip(values) {
                let Some(place) = place else { continue };
                let values: Vec<f64> = moments.iter().map(value).collect();
                // SAFETY: there is a place for each output (a condition of this function).
                unsafe { self.store.store(&values, place.get(), first) };
            }
        };
        let (by_columns, chunks) = (source.is_by_columns(), count.div_ceil(CHUNK));
        if chunks > 1 && !by_columns && source.has_few_outputs() {
            // SAFETY: the conditions of this function.
            return finish(0, &unsafe { moments_in_parts(&source, chunks, self.set) });
        }
        // An element costs more than in a sum.
        pool::split(outputs, count.max(1) * source.element_size() * 2, |range| {
            let mut moments = [BlockMoments::default(); WIDTH];
            for start in range.clone().step_by(WIDTH) {
                let part = start..range.end.min(start + WIDTH);
                let moments = &mut moments[..part.len()];
                // SAFETY: the outputs are the source's, whose elements are valid (a condition of
                // this function).
                unsafe {
                    if by_columns {
                        moments_of_columns(&source, part, self.set, moments);
                    } else {
                        moments_of_rows(&source, part, self.set, moments);
                    }
                }
                finish(start, moments);
            }
        });
    }
}

/// # Safety
/// The source's elements are valid for reads.
unsafe fn moments_in_parts(
    source: &ReducedSource<'_, f64>,
    chunks: usize,
    set: InstructionSet,
) -> Vec<BlockMoments<f64>> {
    let (outputs, count) = (source.outputs(), source.count());
    let mut partial = vec![BlockMoments::default(); outputs * chunks];
    let place = SharedPointer::new(partial.as_mut_ptr());
    pool::split(partial.len(), CHUNK * source.element_size() * 2, |range| {
        let rows = RowMoments::new(source, set);
        for part in range {
            let (output, chunk) = (part / chunks, part % chunks);
            let mut offset = 0;
            source.kept.for_each_run(output..output + 1, |_, at, _| offset = at);
            let elements = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
            // SAFETY: a part's place is used by one thread; the elements are valid (a condition of
            // this function).
            unsafe { place.get().add(part).write(rows.of_chunk(source.at(offset), elements)) };
        }
    });
    let merge = |parts: &[BlockMoments<f64>]| {
        pairwise(0..chunks, &mut |at| parts[at], &BlockMoments::combine)
    };
    partial.chunks(chunks).map(|parts| merge(parts).unwrap_or_default()).collect()
}

/// # Safety
/// The source's elements are valid for reads; there is a place for each output.
unsafe fn moments_of_rows(
    source: &ReducedSource<'_, f64>,
    outputs: Range<usize>,
    set: InstructionSet,
    moments: &mut [BlockMoments<f64>],
) {
    let rows = RowMoments::new(source, set);
    let (first, step, count) = (outputs.start, source.kept.innermost().1, source.count());
    source.kept.for_each_run(outputs, |at, offset, len| {
        for row in 0..len {
            let start = source.at(offset + row as isize * step);
            let chunk = |chunk: usize| chunk * CHUNK..count.min((chunk + 1) * CHUNK);
            // SAFETY: it is a row of the source, whose elements are valid (a condition of this
            // function).
            let mut of_chunk = |at: usize| unsafe { rows.of_chunk(start, chunk(at)) };
            let total = pairwise(0..count.div_ceil(CHUNK), &mut of_chunk, &BlockMoments::combine);
            moments[at - first + row] = total.unwrap_or_default();
        }
    });
}

/// The moments of rows in one instruction set.
struct RowMoments<'a> {
    source: &'a ReducedSource<'a, f64>,
    of_leaf: Version<MomentsOfValues<f64>>,
}

impl<'a> RowMoments<'a> {
    fn new(source: &'a ReducedSource<'a, f64>, set: InstructionSet) -> RowMoments<'a> {
        RowMoments { source, of_leaf: set.version::<MomentsOfValues<f64>>() }
    }

    /// # Safety
    /// The elements `range` of the output at `row` are valid for reads.
    unsafe fn of_chunk(&self, row: *const u8, range: Range<usize>) -> BlockMoments<f64> {
        let mut space = MaybeUninit::<[f64; LEAF]>::uninit();
        let mut leaf = |leaf: usize| {
            let start = range.start + leaf * LEAF;
            let part = start..range.end.min(start + LEAF);
            let len = part.len();
            // SAFETY: the leaf is a part of the elements (a condition of this function), the space
            // has room for it, and the version is of a set that the processor has.
            unsafe {
                let start = self.source.block(row, part, space.as_mut_ptr().cast());
                (self.of_leaf)(DenseValues::new(start, len))
            }
        };
        let leaves = range.len().div_ceil(LEAF);
        pairwise(0..leaves, &mut leaf, &BlockMoments::combine).unwrap_or_default()
    }
}

/// The most columns that are worked on at a time.
const WIDTH: usize = 128;

/// The rows of a tile of columns, which stays in the cache of first level.
const TILE_ROWS: usize = 16;

/// A tile has whole groups of rows.
const _: () = assert!(CHUNK_ROWS.is_multiple_of(TILE_ROWS));

/// # Safety
/// The source's elements are valid for reads; there is a place for each of at most [`WIDTH`]
/// outputs.
unsafe fn moments_of_columns(
    source: &ReducedSource<'_, f64>,
    outputs: Range<usize>,
    set: InstructionSet,
    moments: &mut [BlockMoments<f64>],
) {
    let first = outputs.start;
    let step = source.kept.innermost().1;
    let (sum, squares) =
        (set.version::<FoldColumns<Added<f64>>>(), set.version::<DistancesOfRow>());
    let mut tile = [0.0; TILE_ROWS * WIDTH];
    source.kept.for_each_run(outputs, |at, offset, width| {
        let moments = &mut moments[at - first..][..width];
        moments.fill(BlockMoments::default());
        let (mut means, mut distances) = ([0.0; WIDTH], [0.0; WIDTH]);
        for_each_tile(source, |rows| {
            for (row, &inner) in rows.iter().enumerate() {
                let to = tile[row * WIDTH..].as_mut_ptr();
                // SAFETY: these are elements of the source's outputs, which are valid (a condition
                // of this function), and the tile has room for the row.
                unsafe { source.load(source.at(offset + inner), step, width, to) };
            }
            means.fill(0.0);
            distances.fill(0.0);
            let (start, results, rows) = (tile.as_ptr(), means.as_mut_ptr(), rows.len());
            // SAFETY: the rows of the tile were just written, and the results have room for them.
            unsafe { sum(Columns { start, stride: WIDTH as isize, rows, width, results }) };
            means.iter_mut().for_each(|sum| *sum /= rows as f64);
            for row in 0..rows {
                let row = &tile[row * WIDTH..][..WIDTH];
                // SAFETY: all are arrays of `WIDTH`, of which `width` are used.
                unsafe { squares((row.as_ptr(), width, means.as_ptr(), distances.as_mut_ptr())) };
            }
            for (column, total) in moments.iter_mut().enumerate() {
                let (count, mean, squares) = (rows, means[column], distances[column]);
                *total = BlockMoments::combine(*total, BlockMoments { count, mean, squares });
            }
        });
    });
}

/// Calls `tile` with the offsets of up to [`TILE_ROWS`] rows at a time.
fn for_each_tile(source: &ReducedSource<'_, f64>, mut tile: impl FnMut(&[isize])) {
    let stride = source.reduced.innermost().1;
    let mut rows = [0; TILE_ROWS];
    let mut filled = 0;
    source.reduced.for_each_run(0..source.count(), |_, offset, len| {
        for row in 0..len {
            rows[filled] = offset + row as isize * stride;
            filled += 1;
            if filled == TILE_ROWS {
                tile(&rows);
                filled = 0;
            }
        }
    });
    if filled > 0 {
        tile(&rows[..filled]);
    }
}

/// Adds the squared distances of a row's elements from the columns' means.
struct DistancesOfRow;

impl Multiversioned for DistancesOfRow {
    /// The row, the number of columns, the means, and the sums.
    type Arguments = (*const f64, usize, *const f64, *mut f64);
    type Output = ();

    /// # Safety
    /// Row and means are valid for reads, the sums for reads and writes.
    #[inline(always)]
    unsafe fn run<I: Isa>((row, width, means, sums): Self::Arguments) {
        // SAFETY: conditions of this function.
        let (row, means, sums) = unsafe {
            (
                std::slice::from_raw_parts(row, width),
                std::slice::from_raw_parts(means, width),
                std::slice::from_raw_parts_mut(sums, width),
            )
        };
        for ((&x, &mean), sum) in row.iter().zip(means).zip(sums) {
            *sum += (x - mean) * (x - mean);
        }
    }
}
