//! Comparisons and logical operations, which give truth values.

use super::operand::TensorOrScalar;
use super::pointwise::{Promotion, pointwise};
use crate::dispatch::abi::Elementwise;
use crate::dispatch::{HostKernels, Operator, Signature};
use crate::host::compare;
use crate::{DType, Result, Tensor};

/// An elementwise function of two operands that gives truth values. No gradient flows through.
pub(super) struct Predicate(Operator<Elementwise<3>>);

const fn predicate(name: &'static str, kernels: HostKernels<Elementwise<3>>) -> Predicate {
    Predicate(Operator::new(name, kernels).with_signature(Signature::Gives(DType::Bool)))
}

pub(super) static EQ: Predicate = predicate("eq", compare::eq);
static NE: Predicate = predicate("ne", compare::ne);
static LT: Predicate = predicate("lt", compare::lt);
static LE: Predicate = predicate("le", compare::le);
pub(super) static GT: Predicate = predicate("gt", compare::gt);
pub(super) static GE: Predicate = predicate("ge", compare::ge);
static LOGICAL_AND: Predicate = predicate("logical_and", compare::logical_and);
static LOGICAL_OR: Predicate = predicate("logical_or", compare::logical_or);
static LOGICAL_XOR: Predicate = predicate("logical_xor", compare::logical_xor);

impl Predicate {
    #[track_caller]
    pub(super) fn apply(
        &'static self,
        a: TensorOrScalar<'_>,
        b: TensorOrScalar<'_>,
    ) -> Result<Tensor> {
        pointwise(&self.0, Promotion::Common, ["self", "other"], [a, b])
    }
}

/// Comparisons with another tensor, which is broadcast, or with a number. The result is of dtype
/// `Bool`; the operands are promoted to one dtype first. Comparisons with NaN are false, except
/// `ne`. On CUDA the work is enqueued. All fail if the operands lie on different devices or their
/// shapes do not broadcast.
impl Tensor {
    /// `self == other`
    #[track_caller]
    pub fn eq<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        EQ.apply(self.into(), other.into())
    }

    /// `self != other`
    #[track_caller]
    pub fn ne<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        NE.apply(self.into(), other.into())
    }

    /// `self < other`
    #[track_caller]
    pub fn lt<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LT.apply(self.into(), other.into())
    }

    /// `self <= other`
    #[track_caller]
    pub fn le<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LE.apply(self.into(), other.into())
    }

    /// `self > other`
    #[track_caller]
    pub fn gt<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        GT.apply(self.into(), other.into())
    }

    /// `self >= other`
    #[track_caller]
    pub fn ge<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        GE.apply(self.into(), other.into())
    }

    /// Logical "and": whether both elements differ from zero.
    #[track_caller]
    pub fn logical_and<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LOGICAL_AND.apply(self.into(), other.into())
    }

    /// Logical "or": whether an element differs from zero, or both do.
    #[track_caller]
    pub fn logical_or<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LOGICAL_OR.apply(self.into(), other.into())
    }

    /// Logical "exclusive or": whether exactly one of the elements differs from zero.
    #[track_caller]
    pub fn logical_xor<'a>(&self, other: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        LOGICAL_XOR.apply(self.into(), other.into())
    }

    /// Whether `|self - other| <= atol + rtol * |other|` holds for all elements. Equal elements are
    /// close, infinities too; NaN is close to nothing. It blocks until the answer is there.
    ///
    /// # Errors
    /// The operands lie on different devices or do not broadcast.
    #[track_caller]
    pub fn allclose(&self, other: &Tensor, rtol: f64, atol: f64) -> Result<bool> {
        let (a, b) = (self.detach(), other.detach());
        let close = match Promotion::Common
            .dtype(&[TensorOrScalar::Tensor(&a).typed(), TensorOrScalar::Tensor(&b).typed()])
            .is_float()
        {
            true => {
                let bound = b.abs()?.mul(rtol)?.add(atol)?;
                let finite = b.abs()?.ne(f64::INFINITY)?;
                a.sub(&b)?.abs()?.le(&bound)?.logical_and(&finite)?.logical_or(&a.eq(&b)?)?
            }
            false => a.eq(&b)?,
        };
        close.all()?.item()
    }
}
