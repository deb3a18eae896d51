//! The functions by which tensors of several ranks become one.

/// The function by which the tensors of all ranks become one, element by element
/// (`torch.distributed.ReduceOp`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReduceOp {
    /// Their sum.
    Sum,
    /// Their mean; of floats only.
    Avg,
    /// Their product.
    Product,
    /// The least of them.
    Min,
    /// The largest of them.
    Max,
}
