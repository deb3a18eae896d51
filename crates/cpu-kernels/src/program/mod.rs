//! Expressions that are compiled for dtypes and an instruction set, and their evaluation block by
//! block.

mod compile;
mod copying;
mod dense;
mod joints;
mod layout;
mod plan;
mod run;
mod scratch;
mod tiles;
mod walk;

use expression::{ComputeType, DType};
use smallvec::SmallVec;

use crate::blocks::BlockKernel;
use crate::instruction_set::InstructionSet;

/// An elementwise function for tensors of certain dtypes, ready to run.
///
/// The work is done in blocks of at most 1024 elements, so that what is computed in between stays in
/// the first-level cache: one loop for each primitive. Operands whose elements lie in memory one
/// after the other, in the type that is computed with, are used where they lie; others are brought
/// into a block and back. Temporary tensors are never made, whatever the dtypes and layouts.
///
/// ```
/// use cpu_kernels::program::{Program, StridedPointer};
/// use expression::{ComputeType, DType, elementwise};
///
/// let f = elementwise([ComputeType::F32; 3], |[x, y, z]| x * y + z);
/// let program = Program::new(&f, &[DType::F32; 3], &[DType::F32]);
/// // z is one row that is repeated.
/// let (x, y, z) = ([1.0_f32, 2.0, 3.0, 4.0], [10.0_f32; 4], [5.0_f32, 6.0]);
/// let mut out = [0.0_f32; 4];
/// let inputs = [
///     StridedPointer::new(x.as_ptr().cast_mut().cast(), &[2, 1]),
///     StridedPointer::new(y.as_ptr().cast_mut().cast(), &[2, 1]),
///     StridedPointer::new(z.as_ptr().cast_mut().cast(), &[0, 1]),
/// ];
/// let outputs = [StridedPointer::new(out.as_mut_ptr().cast(), &[2, 1])];
/// // SAFETY: the arrays have the elements that sizes and strides name, and do not overlap.
/// unsafe { program.run(&[2, 2], &outputs, &inputs, &[]) };
/// assert_eq!(out, [15.0, 26.0, 35.0, 46.0]);
/// ```
#[derive(Debug)]
pub struct Program {
    set: InstructionSet,
    inputs: SmallVec<[DType; 4]>,
    outputs: SmallVec<[DType; 2]>,
    /// Bytes per element if all that is done is a copy of the one input.
    copied: Option<usize>,
    /// Whether dense operands need no scratch memory to be brought to, whatever is done with them.
    is_plain: bool,
    uniforms: Vec<UniformValue>,
    /// The uniform values that blocks are filled with, and their types.
    filled: Vec<(usize, ComputeType)>,
    /// Operands and results are numbers of blocks: first those of the inputs, then those of the
    /// outputs, the filled ones, and the slots.
    steps: Vec<BlockStep<usize>>,
    /// Whether a block is one value that is repeated, whatever the layouts of the operands are.
    is_repeated: SmallVec<[bool; 16]>,
    /// The block of each output's values.
    stores: SmallVec<[usize; 2]>,
    /// For each input when it is read for the last time, if ever, and for each output when it is
    /// written: the number of a step, or of a store counted on from the steps.
    last_reads: SmallVec<[Option<usize>; 4]>,
    writes: SmallVec<[usize; 2]>,
    /// Bytes per value, of the blocks for what is computed in between.
    slots: SmallVec<[usize; 8]>,
    /// Bytes per value, of all blocks.
    value_bytes: usize,
    /// Bytes that are moved for an element, or could be while it is computed.
    cost: usize,
}

/// An operand: the address of its first element, and for each dimension the distance between
/// neighbours in elements.
#[derive(Clone, Copy, Debug)]
pub struct StridedPointer<'a> {
    /// The first element.
    pub start: *mut u8,
    /// The strides, as many as there are sizes.
    pub strides: &'a [isize],
}

impl<'a> StridedPointer<'a> {
    /// An operand of these strides.
    pub fn new(start: *mut u8, strides: &'a [isize]) -> StridedPointer<'a> {
        StridedPointer { start, strides }
    }
}

/// An operand whose elements lie one after the other, or are one.
#[derive(Clone, Copy, Debug)]
pub struct DensePointer {
    start: *mut u8,
    is_repeated: bool,
}

impl DensePointer {
    /// An operand whose first element lies there.
    pub fn new(start: *mut u8) -> DensePointer {
        DensePointer { start, is_repeated: false }
    }

    /// An input that has the same element everywhere.
    pub fn repeated(element: *mut u8) -> DensePointer {
        DensePointer { start: element, is_repeated: true }
    }

    /// The same operand, in one dimension.
    fn strided(&self) -> StridedPointer<'static> {
        StridedPointer::new(self.start, if self.is_repeated { &[0] } else { &[1] })
    }
}

/// A value that is the same for all elements.
#[derive(Clone, Copy, Debug)]
enum UniformValue {
    Scalar(usize),
    Constant(u64),
    /// A function of earlier ones.
    Apply(BlockKernel, [usize; 3]),
}

/// A primitive of whole blocks.
#[derive(Clone, Copy, Debug)]
struct BlockStep<L> {
    kernel: BlockKernel,
    out: L,
    operands: [L; 3],
}

impl Program {
    /// The block of an output.
    fn output_block(&self, output: usize) -> usize {
        self.inputs.len() + output
    }
}
