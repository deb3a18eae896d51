//! The operands of an operation as autocast has them.

use std::borrow::Cow;

use crate::autocast::{
    AutocastMode, CastPolicy, ModeGuard, keep_cast, kept_cast, policy, without_autocast,
};
use crate::{DType, Result, Tensor};

/// The operands of an operation, cast as the lists say if the thread asks for it. While this lives,
/// nothing is cast: the operations that this one is made of take what they are given.
pub(crate) struct AutocastOperands<'a, const N: usize> {
    given: [&'a Tensor; N],
    cast: [Option<Tensor>; N],
    /// The dtype that operands on the kind of device are cast to.
    target: Option<CastTarget>,
    _inside: Option<ModeGuard>,
}

#[derive(Clone, Copy)]
struct CastTarget {
    dtype: DType,
    is_cuda: bool,
}

/// The operands of an operation by its name in the lists. It is called first, before dtypes are
/// compared.
///
/// # Errors
/// Memory or the runtime failed.
#[track_caller]
#[inline]
pub(crate) fn autocast<'a, const N: usize>(
    op: &'static str,
    operands: [&'a Tensor; N],
) -> Result<AutocastOperands<'a, N>> {
    let mode = AutocastMode::current();
    if mode.is_on() {
        return AutocastOperands::cast(op, mode, operands);
    }
    let cast = [const { None }; N];
    Ok(AutocastOperands { given: operands, cast, target: None, _inside: None })
}

impl<'a, const N: usize> AutocastOperands<'a, N> {
    #[cold]
    #[track_caller]
    fn cast(op: &'static str, mode: AutocastMode, given: [&'a Tensor; N]) -> Result<Self> {
        let is_cuda = given.iter().any(|tensor| tensor.is_cuda());
        let target = mode.dtype(is_cuda).and_then(|half| {
            let is_single = |tensor: &&Tensor| tensor.dtype() == DType::F32;
            let dtype = match policy(op, is_cuda)? {
                CastPolicy::Half => half,
                CastPolicy::Single => DType::F32,
                CastPolicy::Widest if given.iter().any(is_single) => DType::F32,
                CastPolicy::Widest => half,
            };
            Some(CastTarget { dtype, is_cuda })
        });
        let mut cast = [const { None }; N];
        if let Some(target) = target {
            for (cast, tensor) in cast.iter_mut().zip(given) {
                *cast = target.of(tensor)?;
            }
        }
        Ok(AutocastOperands { given, cast, target, _inside: Some(without_autocast()) })
    }

    /// The operands.
    #[inline]
    pub(crate) fn operands(&self) -> [&Tensor; N] {
        std::array::from_fn(|position| self.cast[position].as_ref().unwrap_or(self.given[position]))
    }

    /// One more operand, which may be missing and has no say in the dtype.
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub(crate) fn optional<'b>(&self, x: Option<&'b Tensor>) -> Result<Option<Cow<'b, Tensor>>> {
        let (Some(x), Some(target)) = (x, self.target) else { return Ok(x.map(Cow::Borrowed)) };
        Ok(Some(target.of(x)?.map_or(Cow::Borrowed(x), Cow::Owned)))
    }
}

impl CastTarget {
    /// The tensor in the dtype; `None` if it stays as it is.
    #[track_caller]
    fn of(self, x: &Tensor) -> Result<Option<Tensor>> {
        let is_narrow = matches!(x.dtype(), DType::F16 | DType::BF16 | DType::F32);
        if !is_narrow || x.dtype() == self.dtype || x.is_cuda() != self.is_cuda {
            return Ok(None);
        }
        if let Some(kept) = kept_cast(x, self.dtype) {
            return Ok(Some(kept));
        }
        let cast = x.to(self.dtype)?;
        keep_cast(x, self.dtype, &cast);
        Ok(Some(cast))
    }
}

impl Tensor {
    /// The tensor in the half precision that products are computed in, where a guard of
    /// [`Autocast`](crate::Autocast) lives for its device, else the tensor itself. It is for operations
    /// of a program's own, which are on no list. Casts of parameters are kept, and gradients flow
    /// through.
    ///
    /// ```
    /// use tensor::{Autocast, DType, Device, tensor};
    /// let x = tensor![1.0, 2.0]?;
    /// assert_eq!(x.to_autocast()?.dtype(), DType::F32);
    /// let _half = Autocast::new(Device::Cpu).enter()?;
    /// assert_eq!(x.to_autocast()?.dtype(), DType::BF16);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// Memory or the runtime failed.
    #[track_caller]
    pub fn to_autocast(&self) -> Result<Tensor> {
        let is_cuda = self.is_cuda();
        let Some(dtype) = AutocastMode::current().dtype(is_cuda) else { return Ok(self.clone()) };
        Ok(CastTarget { dtype, is_cuda }.of(self)?.unwrap_or_else(|| self.clone()))
    }
}

/// The dtype of an elementwise operation whose operands are promoted to `computed`.
#[inline]
pub(super) fn elementwise_dtype(
    op: &'static str,
    computed: DType,
    is_cuda: impl FnOnce() -> bool,
) -> DType {
    if !matches!(computed, DType::F16 | DType::BF16) {
        return computed;
    }
    let mode = AutocastMode::current();
    if !mode.is_on() {
        return computed;
    }
    let is_cuda = is_cuda();
    match mode.dtype(is_cuda).and_then(|_| policy(op, is_cuda)) {
        Some(CastPolicy::Single) => DType::F32,
        _ => computed,
    }
}
