//! Operations that write a tensor's memory: filling, and copies from another tensor.

use smallvec::smallvec;

use super::convert::copy_into;
use super::movement::bring;
use super::operand::{TensorOrScalar, expect_fits};
use super::pointwise::{Kinds, Pointwise, apart_from};
use crate::autograd::InPlace;
use crate::dispatch::Blocking;
use crate::{Error, Result, Scalar, Tensor};

/// A number for every element.
static FILL_NUMBER: Pointwise<1> = Pointwise::common("fill", |[value]| value).of(Kinds::ALL);

/// The second operand in place of the first.
static FILL: Pointwise<2> = Pointwise::common("fill", |[_, value]| value)
    .of(Kinds::ALL)
    .promoted_by_first(1)
    .named(["self", "value"]);

impl Tensor {
    /// A tensor of this one's shape and dtype, filled with `value`, a number or a 0-dimensional
    /// tensor.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// assert_eq!(x.fill(7.0)?.to_vec::<f32>()?, [7.0, 7.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtype has no such number; `value` has dimensions.
    #[track_caller]
    pub fn fill<'a>(&self, value: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        FILL.apply(self.filled_with("fill", value.into())?)
    }

    /// Sets all elements to `value`, a number or a 0-dimensional tensor, converted to the tensor's
    /// dtype, and gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.fill_(7.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [7.0, 7.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::fill`]; the tensor cannot be written in place, since it is a leaf that requires
    /// gradients; or it is filled with a tensor, and its elements share memory (after `expand`).
    #[track_caller]
    pub fn fill_<'a>(&self, value: impl Into<TensorOrScalar<'a>>) -> Result<Tensor> {
        match self.filled_with("fill_", value.into())? {
            [_, TensorOrScalar::Scalar(number)] => self.set_all("fill_", number),
            operands => FILL.apply_in_place("fill_", self, operands),
        }
    }

    /// [`Tensor::fill_`] of a new tensor, which nobody else has.
    ///
    /// # Errors
    /// As [`Tensor::fill_`].
    #[track_caller]
    pub(crate) fn fill_new(&self, number: Scalar) -> Result<()> {
        expect_fits("fill_", "value", number, self.dtype())?;
        if !FILL_NUMBER.fill_dense(self, number) {
            self.set_all("fill_", number)?;
        }
        Ok(())
    }

    /// Sets all elements to zero, and gives the same handle.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.zero_()?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0, 0.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::fill_`].
    #[track_caller]
    pub fn zero_(&self) -> Result<Tensor> {
        self.set_all("zero_", Scalar::Int(0))
    }

    /// Sets all elements to a number, without reading them.
    #[track_caller]
    pub(super) fn set_all(&self, name: &'static str, number: Scalar) -> Result<Tensor> {
        let write = InPlace::begin(name, self, &[])?;
        // Elements that share memory get the same number, so each piece of it is written once.
        let once = self.layout().overlaps_itself().then(|| self.layout().without_repetitions());
        let once = once.map(|layout| self.alias(layout)).transpose()?;
        FILL_NUMBER.write(once.as_ref().unwrap_or(self), self.dtype(), [number.into()])?;
        Ok(write.finish_constant())
    }

    fn filled_with<'a>(
        &'a self,
        op: &'static str,
        value: TensorOrScalar<'a>,
    ) -> Result<[TensorOrScalar<'a>; 2]> {
        match value {
            TensorOrScalar::Scalar(number) => expect_fits(op, "value", number, self.dtype())?,
            TensorOrScalar::Tensor(tensor) if tensor.dims() > 0 => {
                let value = format!("a tensor of shape {:?}", tensor.shape());
                let why = "it must be a number or a tensor without dimensions";
                return Err(Error::InvalidArgument { op, argument: "value", value, why });
            }
            TensorOrScalar::Tensor(_) => {}
        }
        Ok([self.into(), value])
    }

    /// Copies the elements of `source`, which may lie on any device, into this tensor, broadcast
    /// and converted, and gives the same handle. A copy between the host and a device is done when
    /// this returns; one on a device or between two of them is enqueued.
    ///
    /// ```
    /// use tensor::tensor;
    /// let x = tensor![1.0, 2.0, 3.0]?;
    /// x.copy_(&tensor![5]?)?;
    /// assert_eq!(x.to_vec::<f32>()?, [5.0, 5.0, 5.0], "broadcast and converted");
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::fill_`]; or `source` does not broadcast to the tensor's shape.
    #[track_caller]
    pub fn copy_(&self, source: &Tensor) -> Result<Tensor> {
        self.copy_with(source, Blocking::Yes)
    }

    /// [`Tensor::copy_`] with the choice not to wait (`non_blocking`). With [`Blocking::No`] a copy between a
    /// device and page-locked memory is only enqueued; later reads and writes of either side
    /// through this crate wait for it.
    ///
    /// # Errors
    /// As [`Tensor::copy_`].
    #[track_caller]
    pub fn copy_with(&self, source: &Tensor, blocking: Blocking) -> Result<Tensor> {
        self.assign("copy_", source, blocking)
    }

    /// Writes a result that was computed from the tensor into it, and gives the same handle: the
    /// form in place of an operation that is made of others.
    ///
    /// # Errors
    /// As [`Tensor::copy_`]; or the result has another shape than the tensor.
    #[track_caller]
    pub(super) fn overwritten_by(&self, name: &'static str, result: &Tensor) -> Result<Tensor> {
        if self.shape() != result.shape() {
            let shape = |x: &Tensor| x.layout().shape().clone();
            let shapes = vec![("self", shape(self)), ("the result", shape(result))];
            let rule = "an operation in place cannot change the tensor's shape";
            return Err(Error::ShapeMismatch { op: name, shapes, rule });
        }
        self.assign(name, result, Blocking::No)
    }

    /// [`Tensor::copy_with`] under the name of another operation.
    ///
    /// # Errors
    /// As [`Tensor::copy_`].
    #[track_caller]
    pub(super) fn assign(
        &self,
        name: &'static str,
        source: &Tensor,
        blocking: Blocking,
    ) -> Result<Tensor> {
        let write = InPlace::begin(name, self, &[source])?;
        if self.layout().shape().broadcast(source.shape()).as_ref() != Some(self.layout().shape()) {
            return Err(Error::ShapeMismatch {
                op: name,
                shapes: vec![
                    ("self", self.layout().shape().clone()),
                    ("source", source.layout().shape().clone()),
                ],
                rule: "`source` must broadcast to the shape of `self`",
            });
        }
        if self.resolved_device() == source.resolved_device() {
            let apart = apart_from(self, source)?;
            copy_into(self, apart.as_ref().unwrap_or(source))?;
        } else {
            bring(self, source, blocking)?;
        }
        Ok(write.finish(|_| {
            |grad: &Tensor, needs: &[bool]| {
                let of_self = needs[0].then(|| grad.zeros_like()).transpose()?;
                Ok(smallvec![of_self, needs[1].then(|| grad.clone())])
            }
        }))
    }
}
