//! Convolutions and their gradients: each is computed from windows of one factor, which are the size
//! of a band of results' sources and lie in the second-level cache, by tiles that find their factors
//! through tables of places. Nothing of the size of a matrix of columns is made.
//!
//! The output of a convolution, and its input as a gradient, are correlations of a source with a
//! weight (`correlation`); the gradient of the weight sums over places of outputs instead
//! (`weight_gradient`). Halves are multiplied and added in `f32`, and rounded once; integers wrap around. The order of a sum
//! follows from the sizes alone, whatever the number of threads.

mod axis;
mod bands;
mod copy_rows;
mod correlation;
mod results;
mod shape;
mod tile;
mod value;
mod weight_gradient;
mod weights;
mod window;

use expression::{ComputeType, DType};

pub use self::shape::{ConvOperands, ConvPass, ConvShape};
use self::value::ConvValue;
use crate::instruction_set::InstructionSet;

/// The convolution of tensors of one dtype.
///
/// ```
/// use cpu_kernels::conv::{ConvKernel, ConvOperands, ConvPass, ConvShape};
/// use expression::DType;
///
/// let (mut x, mut w, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [1.0f32, 10.0], [0.0f32; 3]);
/// let one = |last| [1, 1, last];
/// let shape = ConvShape {
///     batch: 1,
///     groups: 1,
///     in_channels: 1,
///     out_channels: 1,
///     input: one(4),
///     kernel: one(2),
///     output: one(3),
///     stride: one(1),
///     padding: [0; 3],
///     dilation: one(1),
/// };
/// let operands = ConvOperands {
///     input: x.as_mut_ptr().cast(),
///     weight: w.as_mut_ptr().cast(),
///     output: y.as_mut_ptr().cast(),
///     bias: std::ptr::null(),
/// };
/// let kernel = ConvKernel::new(DType::F32).expect("floats are convolved");
/// // SAFETY: the arrays are tensors of these sizes.
/// unsafe { kernel.run(ConvPass::Output, &shape, &operands) };
/// assert_eq!(y, [21.0, 32.0, 43.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ConvKernel {
    dtype: DType,
    set: InstructionSet,
}

impl ConvKernel {
    /// The kernel for a dtype in the current instruction set; `None` for truth values.
    pub fn new(dtype: DType) -> Option<ConvKernel> {
        ConvKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`ConvKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<ConvKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        (dtype != DType::Bool).then_some(ConvKernel { dtype, set })
    }

    /// Computes one of the three tensors, in the threads of the pool if there is much to do.
    ///
    /// # Safety
    /// The tensors are dense and of these sizes; the one that the pass gives is valid for writes and
    /// nobody else uses it, the others and the bias are valid for reads and nobody writes them.
    pub unsafe fn run(&self, pass: ConvPass, shape: &ConvShape, operands: &ConvOperands) {
        // SAFETY: the conditions are the same; the type is the one that the dtype is computed in.
        unsafe {
            match self.dtype.compute_type() {
                ComputeType::F64 => self.run_in::<f64>(pass, shape, operands),
                ComputeType::F32 => self.run_in::<f32>(pass, shape, operands),
                ComputeType::I64 => self.run_in::<i64>(pass, shape, operands),
                _ => self.run_in::<i32>(pass, shape, operands),
            }
        }
    }

    /// # Safety
    /// The conditions of [`ConvKernel::run`], and the dtype is computed in `V`.
    unsafe fn run_in<V: ConvValue>(
        &self,
        pass: ConvPass,
        shape: &ConvShape,
        operands: &ConvOperands,
    ) {
        let kernel = (self.dtype, self.set);
        // SAFETY: the conditions are the same.
        unsafe {
            match pass {
                ConvPass::Output | ConvPass::Input => {
                    correlation::run::<V>(kernel, pass, shape, operands);
                }
                ConvPass::Weight => weight_gradient::run::<V>(kernel, shape, operands),
            }
        }
    }
}
