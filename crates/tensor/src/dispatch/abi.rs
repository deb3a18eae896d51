//! The arguments of kernels: one struct for each kind of kernel, the same for the CPU and for CUDA.
//!
//! The layouts are those of `kernels/include/abi.cuh`, where [`Rowwise`] is called `Rows`; the
//! assertions at the end, and those there, keep the two sides equal.

mod attention;
mod windows;

pub(crate) use attention::Attention;
pub(crate) use windows::{PoolAxis, PooledWindows, Resample, ResampledAxis};

/// The most dimensions that a kernel takes. Dimensions are merged before a call, so more than eight
/// are rare.
pub(crate) const MAX_DIMS: usize = 8;

/// Folds `reduced` elements of the input into each of `outputs` dense elements of the output.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Reduce {
    pub(crate) output: u64,
    pub(crate) input: u64,
    pub(crate) outputs: i64,
    pub(crate) reduced: i64,
    pub(crate) output_dims: i32,
    pub(crate) reduced_dims: i32,
    /// The number of CUDA threads that reduce one output together, a power of two.
    pub(crate) lanes: i32,
    /// The number of parts in which CUDA's first of two launches folds each output; 1 if there is
    /// one launch.
    pub(crate) parts: i32,
    /// The address of 16 bytes for each part of each output, if there are two launches.
    pub(crate) states: u64,
    /// Whether this is the second launch, which folds the parts: 0 or 1.
    pub(crate) joins: i32,
    /// Whether neighbouring threads work on neighbouring outputs: 0 or 1.
    pub(crate) across: i32,
    pub(crate) output_sizes: [i64; MAX_DIMS],
    /// The input's strides along the dimensions that are kept.
    pub(crate) output_strides: [i64; MAX_DIMS],
    pub(crate) reduced_sizes: [i64; MAX_DIMS],
    pub(crate) reduced_strides: [i64; MAX_DIMS],
}

/// `c[batches, parts, m, n] = a[.., m, k] b[.., k, n]`, where c is dense, and each part has the
/// products of as much of the depth k.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Matmul {
    pub(crate) c: u64,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) batches: i64,
    pub(crate) m: i64,
    pub(crate) n: i64,
    pub(crate) k: i64,
    pub(crate) a_row: i64,
    pub(crate) a_col: i64,
    pub(crate) b_row: i64,
    pub(crate) b_col: i64,
    pub(crate) batch_dims: i32,
    /// The number of parts, on the CPU 1.
    pub(crate) parts: i32,
    /// The side of the tiles of c that CUDA's blocks compute; 0 on the CPU.
    pub(crate) tile: i32,
    /// The threads of a block.
    pub(crate) threads: i32,
    pub(crate) batch_sizes: [i64; MAX_DIMS],
    pub(crate) a_batch: [i64; MAX_DIMS],
    pub(crate) b_batch: [i64; MAX_DIMS],
}

/// A function of each row of dense `[rows / inner, cols, inner]` arrays, in which the elements of a
/// row lie `inner` apart. On the CPU `inner` is 1.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Rowwise {
    pub(crate) out: u64,
    pub(crate) a: u64,
    pub(crate) b: u64,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    pub(crate) inner: i64,
    pub(crate) lanes: RowLanes,
}

/// The threads of CUDA for the rows of an array.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct RowLanes {
    /// The number of threads that work on a row together, a power of two.
    pub(crate) lanes: i32,
    /// The bytes of shared memory in which a block keeps what it reads of its rows; 0 if it does not.
    pub(crate) kept_bytes: i32,
}

/// Layer normalisation of dense rows, or, with the gradient of the result, the gradient of `x`. An
/// address of what is not there, or not wanted, is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct NormalizedRows {
    pub(crate) out: u64,
    pub(crate) x: u64,
    pub(crate) grad: u64,
    pub(crate) weight: u64,
    pub(crate) bias: u64,
    /// Two numbers for each row, which the gradient leaves for those of the parameters.
    pub(crate) statistics: u64,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    pub(crate) epsilon: f64,
    pub(crate) lanes: RowLanes,
    /// Whether the parameters are `F32` beside halves: 0 or 1.
    pub(crate) wide: i32,
    /// Whether means are subtracted: 0 or 1.
    pub(crate) centered: i32,
}

/// The gradients of the weight and the bias of a layer normalisation, of which at least one is wanted.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct NormParameters {
    pub(crate) weight: u64,
    pub(crate) bias: u64,
    pub(crate) x: u64,
    pub(crate) grad: u64,
    pub(crate) statistics: u64,
    /// Two sums for each part of each column, if there are two launches.
    pub(crate) sums: u64,
    pub(crate) rows: i64,
    pub(crate) cols: i64,
    /// The number of parts in which the first of two launches sums the rows; 1 if there is one launch.
    pub(crate) parts: i32,
    /// Whether this is the second launch, which adds the parts: 0 or 1.
    pub(crate) joins: i32,
    pub(crate) wide: i64,
}

/// Dense arrays seen as `[outer, size, inner]` or `[outer, count, inner]`: indices choose `count`
/// elements out of `size` along the middle dimension.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Index {
    pub(crate) out: u64,
    pub(crate) source: u64,
    pub(crate) index: u64,
    pub(crate) outer: i64,
    pub(crate) size: i64,
    pub(crate) count: i64,
    pub(crate) inner: i64,
}

/// Random numbers from Philox into dense memory, or dropout of dense memory: element `i` depends on
/// `seed`, `offset` and `i`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Random {
    pub(crate) out: u64,
    pub(crate) numel: i64,
    pub(crate) seed: u64,
    pub(crate) offset: u64,
    /// Bounds, or mean and standard deviation, or a probability in `a`; for dropout, which `a` is the
    /// probability to stay for, a factor in `b`.
    pub(crate) a: f64,
    pub(crate) b: f64,
    /// Bounds of integers.
    pub(crate) low: i64,
    pub(crate) high: i64,
    /// The address of two `i64` on the device, or 0: a seed, which is used in place of `seed`, and
    /// a number that is added to `offset`. Graphs use it, whose launches each draw other numbers.
    pub(crate) state: u64,
    /// The elements that dropout drops some of; it may be `out`.
    pub(crate) input: u64,
}

/// A scan along the middle dimension of dense `[outer, size, inner]` memory.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ScanCall {
    pub(crate) out: u64,
    pub(crate) input: u64,
    /// The address of eight bytes for each part of each row, if there are several parts.
    pub(crate) totals: u64,
    pub(crate) outer: i64,
    pub(crate) size: i64,
    pub(crate) inner: i64,
    /// The number of parts that CUDA scans each row in, in two launches if there are several.
    pub(crate) parts: i32,
    /// Whether this is the second launch, which begins each part with what is before it: 0 or 1.
    pub(crate) joins: i32,
}

/// The order of dense `[rows, size]` elements: the places in their rows of those that come at `count`
/// places from `first` on, into `[rows, count]`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Sort {
    pub(crate) out: u64,
    pub(crate) input: u64,
    /// The addresses of `width` items for each row, for CUDA's launches on rows of several chunks:
    /// the runs that one reads, and those that it writes.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) rows: i64,
    pub(crate) size: i64,
    pub(crate) first: i64,
    pub(crate) count: i64,
    pub(crate) width: i64,
    /// The length of the runs that are merged; 0 in the first launch, which makes them.
    pub(crate) run: i64,
    /// Whether the largest elements come first: 0 or 1.
    pub(crate) descending: i64,
}

/// Long rows of `size` elements in order, on CUDA: a pass by one digit of their keys, or what belongs to
/// it. The addresses are of memory between passes, which `kernels/include/radix.cuh` describes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Radix {
    /// The places that are wanted, of which the last pass writes `count` for each row.
    pub(crate) out: u64,
    /// The elements, for the first pass.
    pub(crate) input: u64,
    pub(crate) from_keys: u64,
    pub(crate) from_places: u64,
    pub(crate) to_keys: u64,
    pub(crate) to_places: u64,
    pub(crate) counts: u64,
    pub(crate) totals: u64,
    pub(crate) from_selected: u64,
    pub(crate) to_selected: u64,
    pub(crate) rows: i64,
    pub(crate) size: i64,
    pub(crate) first: i64,
    pub(crate) count: i64,
    /// The parts of a row whose digits are counted apart, and their elements.
    pub(crate) parts: i64,
    pub(crate) part: i64,
    /// The blocks that have work.
    pub(crate) jobs: i64,
    /// The bits that are known of a key that is looked for.
    pub(crate) known: u64,
    /// The lowest bit of the digit.
    pub(crate) shift: i32,
    pub(crate) descending: i32,
    /// Whether keys below, at and above the one that was found stand for digits.
    pub(crate) classes: i32,
    pub(crate) reserved: i32,
}

/// The places of dense `[rows, count]` values in dense `[rows, size]` elements, which are sorted, or
/// are so in the order of `sorter`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Search {
    pub(crate) out: u64,
    pub(crate) sorted: u64,
    pub(crate) values: u64,
    /// The address of `[rows, size]` times `i64`, or 0.
    pub(crate) sorter: u64,
    pub(crate) rows: i64,
    pub(crate) size: i64,
    pub(crate) count: i64,
    /// Whether equal elements come before a value: 0 or 1.
    pub(crate) right: i64,
}

/// `start + i * step` into dense memory; integers use `istart` and `istep`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(crate) out: u64,
    pub(crate) numel: i64,
    pub(crate) start: f64,
    pub(crate) step: f64,
    pub(crate) istart: i64,
    pub(crate) istep: i64,
}

/// A convolution of dense `x`, `weight` and `y` (input, weight and output), of which the kernel's
/// name says which one is computed. Channels are those of a group.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Convolution {
    pub(crate) x: u64,
    pub(crate) weight: u64,
    pub(crate) y: u64,
    /// The address of a number for each channel of the result, or 0.
    pub(crate) bias: u64,
    pub(crate) batch: i64,
    pub(crate) groups: i64,
    pub(crate) in_channels: i64,
    pub(crate) out_channels: i64,
    pub(crate) input: [i64; 3],
    pub(crate) kernel: [i64; 3],
    pub(crate) output: [i64; 3],
    pub(crate) stride: [i64; 3],
    pub(crate) padding: [i64; 3],
    pub(crate) dilation: [i64; 3],
    /// The distance of the kernel's positions that meet the inputs of one phase.
    pub(crate) tap_step: [i64; 3],
    /// The rows and columns of the product that CUDA computes for each group; of an input, for its
    /// first phase.
    pub(crate) rows: i64,
    pub(crate) columns: i64,
    /// The number of parts in which CUDA sums a weight, or an output on tensor cores, or of the phases
    /// of an input; else 1.
    pub(crate) parts: i64,
    /// The rows and columns of the tiles that CUDA's blocks compute; 0 on the CPU.
    pub(crate) tile: [i32; 2],
    /// The threads of a block on CUDA.
    pub(crate) threads: i64,
}

/// The most arrays that one launch of `cat` joins.
pub(crate) const MAX_PARTS: usize = 64;

/// Dense arrays of `rows` rows, one beside the other in the rows of `out`: array `p` takes `widths[p]`
/// bytes from `starts[p]` on of each, and CUDA's blocks from `first_blocks[p]` to
/// `first_blocks[p + 1]` copy it.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Cat {
    pub(crate) out: u64,
    pub(crate) rows: i64,
    pub(crate) row_bytes: i64,
    pub(crate) count: i32,
    /// The bytes that everything is a multiple of, addresses too: 1, 2, 4, 8 or 16.
    pub(crate) unit: i32,
    pub(crate) parts: [u64; MAX_PARTS],
    pub(crate) starts: [i64; MAX_PARTS],
    pub(crate) widths: [i64; MAX_PARTS],
    /// One more than are used, so that the struct has no padding.
    pub(crate) first_blocks: [i32; MAX_PARTS + 2],
}

const _: () = {
    use std::mem::{offset_of, size_of};
    assert!(size_of::<Reduce>() == 320 && offset_of!(Reduce, lanes) == 40);
    assert!(offset_of!(Reduce, output_sizes) == 64);
    assert!(size_of::<Matmul>() == 296 && offset_of!(Matmul, batch_dims) == 88);
    assert!(offset_of!(Matmul, batch_sizes) == 104);
    assert!(size_of::<Rowwise>() == 56 && size_of::<Index>() == 56);
    assert!(size_of::<NormalizedRows>() == 88 && offset_of!(NormalizedRows, epsilon) == 64);
    assert!(size_of::<NormParameters>() == 80 && offset_of!(NormParameters, parts) == 64);
    assert!(size_of::<Random>() == 80 && offset_of!(Random, low) == 48);
    assert!(size_of::<ScanCall>() == 56 && offset_of!(ScanCall, parts) == 48);
    assert!(size_of::<Sort>() == 88 && offset_of!(Sort, width) == 64);
    assert!(size_of::<Radix>() == 160 && offset_of!(Radix, known) == 136);
    assert!(size_of::<Search>() == 64);
    assert!(size_of::<Range>() == 48 && offset_of!(Range, istart) == 32);
    assert!(size_of::<Convolution>() == 272 && offset_of!(Convolution, input) == 64);
    assert!(offset_of!(Convolution, rows) == 232);
    assert!(size_of::<Cat>() == 1832 && offset_of!(Cat, first_blocks) == 1568);
};
