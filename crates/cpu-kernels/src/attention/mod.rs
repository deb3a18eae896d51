//! Attention: `softmax(scale q kᵀ + mask) v` for each head, and its gradients, in memory that grows
//! with the sequences and not with their product.
//!
//! The scores of a block of queries and a block of keys are computed, used and forgotten. What goes
//! from block to block is the largest score of each query so far and the sum of its exponentials,
//! and afterwards one number for each query, the logarithm of that sum, from which the gradients
//! compute the blocks anew. T. Dao, D. Fu, S. Ermon, A. Rudra, C. Ré: "FlashAttention: Fast and
//! Memory-Efficient Exact Attention with IO-Awareness", NeurIPS 2022.
//!
//! A block of scores lies transposed: a row for each key, and a column for each query. So the rows of
//! keys are read where they lie in all products, and maxima and sums of queries run along columns,
//! of which a vector has many.

mod backward;
mod forward;
mod heads;
mod products;
mod room;
mod scores;

use expression::DType;

use self::heads::AttentionCall;
use crate::instruction_set::InstructionSet;
use crate::matmul::tile::TileNumber;
use crate::random::Philox;
use crate::shared_pointer::SharedPointer;
use crate::softmax::SoftmaxFloat;

/// The sizes of an attention, and what is the same for all of its scores.
#[derive(Clone, Copy, Debug)]
pub struct AttentionShape {
    /// The number of batches.
    pub batch: usize,
    /// The number of heads of the queries, a multiple of `kv_heads`.
    pub heads: usize,
    /// The number of heads of keys and values, each of which serves as many neighbouring heads.
    pub kv_heads: usize,
    /// The number of queries of a head.
    pub queries: usize,
    /// The number of keys, and of values, of a head.
    pub keys: usize,
    /// The elements of a query and of a key.
    pub depth: usize,
    /// The elements of a value and of a result.
    pub columns: usize,
    /// The factor of the products of queries and keys.
    pub scale: f64,
    /// Whether query `i` sees the keys up to `i` only.
    pub is_causal: bool,
}

/// Rows of elements, for each batch, head and position; the elements of a row are neighbours.
#[derive(Clone, Copy, Debug)]
pub struct HeadRows {
    /// The address of the first element.
    pub start: *const u8,
    /// The distances of batches, heads and positions, in elements.
    pub strides: [isize; 3],
}

/// A mask of the scores.
#[derive(Clone, Copy, Debug)]
pub struct AttentionMask {
    /// The address of the first element.
    pub start: *const u8,
    /// The distances of batches, heads, queries and keys, in elements.
    pub strides: [isize; 4],
    /// Whether the elements are bytes that say which keys a query sees; else they are of the
    /// kernel's dtype and are added to the scores.
    pub is_truth: bool,
}

/// Dropout of the shares that queries have in values. The random word of a query and a key is that
/// of element `[batch, head, query, key]` of an array whose number of keys is rounded up to whole
/// blocks of four.
#[derive(Clone, Copy, Debug)]
pub struct AttentionDropout {
    /// The draw.
    pub philox: Philox,
    /// The probability to stay; what stays is divided by it.
    pub keep: f64,
}

/// The operands of an attention.
#[derive(Clone, Copy, Debug)]
pub struct AttentionOperands {
    /// The queries, of `depth` elements.
    pub q: HeadRows,
    /// The keys, of `depth` elements.
    pub k: HeadRows,
    /// The values, of `columns` elements.
    pub v: HeadRows,
    /// The mask, if there is one.
    pub mask: Option<AttentionMask>,
    /// The dropout, if there is some.
    pub dropout: Option<AttentionDropout>,
}

/// The results of an attention, both dense.
#[derive(Clone, Copy, Debug)]
pub struct AttentionResults {
    /// The results, `[batch, queries, heads, columns]`.
    pub out: *mut u8,
    /// The logarithm of the sum of the exponentials of each query's scores,
    /// `[batch, heads, queries]`; infinite for a query that sees no key.
    pub log_sum: *mut u8,
}

/// The gradients of an attention, and what they are computed from beside its operands. Each gradient
/// is the address of a dense array, which lies as the results do: `[batch, position, head, element]`.
#[derive(Clone, Copy, Debug)]
pub struct AttentionGradients {
    /// The gradient of the results.
    pub grad: HeadRows,
    /// The results.
    pub out: *const u8,
    /// The logarithms of the sums, as the attention gave them.
    pub log_sum: *const u8,
    /// The gradient of the queries, if it is wanted.
    pub q: Option<*mut u8>,
    /// The gradient of the keys, if it is wanted.
    pub k: Option<*mut u8>,
    /// The gradient of the values, if it is wanted.
    pub v: Option<*mut u8>,
}

/// Attention of `F32` or `F64`.
///
/// ```
/// use cpu_kernels::attention::{
///     AttentionKernel, AttentionOperands, AttentionResults, AttentionShape, HeadRows,
/// };
/// use expression::DType;
///
/// // One query, whose two keys are equal: it takes the mean of their values.
/// let (q, k, v) = ([1.0f32], [2.0f32, 2.0], [3.0f32, 5.0]);
/// let rows = |x: &[f32]| HeadRows { start: x.as_ptr().cast(), strides: [0, 0, 1] };
/// let operands =
///     AttentionOperands { q: rows(&q), k: rows(&k), v: rows(&v), mask: None, dropout: None };
/// let shape = AttentionShape {
///     batch: 1,
///     heads: 1,
///     kv_heads: 1,
///     queries: 1,
///     keys: 2,
///     depth: 1,
///     columns: 1,
///     scale: 1.0,
///     is_causal: false,
/// };
/// let (mut out, mut log_sum) = ([0.0f32], [0.0f32]);
/// let results = AttentionResults {
///     out: out.as_mut_ptr().cast(),
///     log_sum: log_sum.as_mut_ptr().cast(),
/// };
/// let kernel = AttentionKernel::new(DType::F32).expect("it is computed so");
/// // SAFETY: the arrays are of these sizes.
/// unsafe { kernel.run(&shape, &operands, results) };
/// assert_eq!(out, [4.0]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct AttentionKernel {
    dtype: DType,
    set: InstructionSet,
}

impl AttentionKernel {
    /// The kernel for a dtype, in the current instruction set; `None` for what is not computed in its
    /// own dtype, like halves.
    pub fn new(dtype: DType) -> Option<AttentionKernel> {
        AttentionKernel::in_set(dtype, InstructionSet::current())
    }

    /// [`AttentionKernel::new`] in a set that the processor has.
    pub fn in_set(dtype: DType, set: InstructionSet) -> Option<AttentionKernel> {
        assert!(set.is_supported(), "the processor does not have {}", set.name());
        matches!(dtype, DType::F32 | DType::F64).then_some(AttentionKernel { dtype, set })
    }

    /// Computes the results, in the threads of the pool if there is much to do. They do not depend on
    /// the number of threads.
    ///
    /// # Safety
    /// The operands are valid for reads with the shape's sizes, and nobody writes them; the results
    /// are valid for writes, nobody else uses them, and they overlap no operand.
    pub unsafe fn run(
        &self,
        shape: &AttentionShape,
        operands: &AttentionOperands,
        results: AttentionResults,
    ) {
        let AttentionResults { out, log_sum } = results;
        // SAFETY: the conditions of this function, for the type of the dtype.
        unsafe {
            match self.dtype {
                DType::F64 => AttentionCall::<f64>::new(shape, operands, self.set)
                    .forward(SharedPointer::new(out.cast()), SharedPointer::new(log_sum.cast())),
                _ => AttentionCall::<f32>::new(shape, operands, self.set)
                    .forward(SharedPointer::new(out.cast()), SharedPointer::new(log_sum.cast())),
            }
        }
    }

    /// Computes the gradients that are wanted, in the threads of the pool if there is much to do. They
    /// do not depend on the number of threads.
    ///
    /// # Safety
    /// As [`AttentionKernel::run`], where the gradients are valid for writes and the others for reads.
    pub unsafe fn run_backward(
        &self,
        shape: &AttentionShape,
        operands: &AttentionOperands,
        gradients: &AttentionGradients,
    ) {
        // SAFETY: the conditions of this function, for the type of the dtype.
        unsafe {
            match self.dtype {
                DType::F64 => {
                    AttentionCall::<f64>::new(shape, operands, self.set).backward(gradients);
                }
                _ => AttentionCall::<f32>::new(shape, operands, self.set).backward(gradients),
            }
        }
    }
}

/// A float that attention is computed in.
trait AttentionFloat: SoftmaxFloat + TileNumber {}

impl<V: SoftmaxFloat + TileNumber> AttentionFloat for V {}
