//! Reading and writing the part of a tensor that indices choose, as with brackets in Python.

use super::basic::Selection;
use super::indices::TensorIndices;
use super::put::put_at;
use super::select::select_at;
use crate::dispatch::Blocking;
use crate::ops::operand::{TensorOrScalar, expect_fits};
use crate::{Result, Scalar, Tensor};

impl Tensor {
    /// The part that indices choose (`x[..]` in Python): one index, or a tuple of them, one for each
    /// dimension from the outermost on. Without tensors and lists of indices it is a view, which
    /// shares the tensor's memory, else a copy.
    ///
    /// | PyTorch | Sluice | |
    /// |---|---|---|
    /// | `x[0]`, `x[-1]` | `x.i(0)`, `x.i(-1)` | any integer; negative ones count from the end |
    /// | `x[1:3]`, `x[:-1]`, `x[2:]` | `x.i(1..3)`, `x.i(..-1)`, `x.i(2..)` | also `1..=3` and `..=-1`, the end included |
    /// | `x[1::2]` | `x.i((1..).step(2))` | by [`IndexRange`](crate::IndexRange) |
    /// | `x[:, 0]`, `x[..., 0]` | `x.i((.., 0))`, `x.i((Ellipsis, 0))` | |
    /// | `x[None]`, `x[:, None]` | `x.i(NewAxis)`, `x.i((.., NewAxis))` | |
    /// | `x[True]` | `x.i(true)` | |
    /// | `x[rows]`, `x[:, [0, 2]]` | `x.i(&rows)`, `x.i((.., [0, 2]))` | tensors and lists of integers |
    /// | `x[x > 0]` | `x.i(&x.gt(0.0)?)` | a mask, for as many dimensions as it has |
    /// | `x[indices]` | `x.i(&indices)` | a slice or vector of [`TensorIndex`](crate::TensorIndex) |
    /// | `x[1:3] = v`, `x[mask] = 0` | `x.set_i(1..3, &v)?`, `x.set_i(&mask, 0.0)?` | [`Tensor::set_i`] |
    /// | `x[rows] += v` | `x.index_put_(&rows, &v, true)?` | which adds up what goes to one place |
    ///
    /// Clippy takes the literal `1..-1` for an empty range: a program that has such allows the lint
    /// `reversed_empty_ranges`.
    ///
    /// Index tensors and lists are broadcast with each other, and their dimensions take the place of
    /// the indexed ones, or come first where those do not lie side by side. An index tensor without
    /// dimensions is an integer. Index tensors and masks may lie on the host.
    ///
    /// ```
    /// use tensor::{Ellipsis, IndexRange, NewAxis, Tensor, tensor};
    /// let x = Tensor::arange(24, ())?.reshape([2, 3, 4])?;
    /// assert_eq!(x.i((1, .., -1))?.to_vec::<i64>()?, [15, 19, 23]);
    /// assert_eq!(x.i((.., 1..3, (..).step(2)))?.shape(), [2, 2, 2]);
    /// assert_eq!(x.i((Ellipsis, NewAxis, ..-1))?.shape(), [2, 3, 1, 3]);
    ///
    /// let rows = tensor![[2, 0], [1, 1]]?;
    /// assert_eq!(x.i((0, &rows))?.shape(), [2, 2, 4]);
    /// assert_eq!(x.i((.., [0, 2], [1, 3]))?.to_vec::<i64>()?, [1, 11, 13, 23]);
    /// assert_eq!(x.i(&x.gt(20)?)?.to_vec::<i64>()?, [21, 22, 23]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are more indices than dimensions, one is out of range, a step is 0, a tensor of indices is
    /// not of dtype `I64` or `I32`, a mask has another shape than the dimensions that it stands for, or
    /// index tensors do not broadcast. An index out of range in a tensor on CUDA is an assertion on
    /// the device, as for [`Tensor::gather`]. The host waits for masks, whose true elements it
    /// counts, and for index tensors without dimensions.
    #[track_caller]
    pub fn i(&self, indices: impl Into<TensorIndices>) -> Result<Tensor> {
        let Selection { view, chosen } = Selection::new("i", self, &indices.into().0)?;
        if chosen.is_empty() { Ok(view) } else { select_at("i", &view, &chosen) }
    }

    /// Sets the part that indices choose ([`Tensor::i`]) to `value`, a number or a tensor that
    /// broadcasts to the part, and gives the same handle (`x[..] = value` in Python). It works in
    /// place, as "set" says, and gradients flow to the value.
    ///
    /// Sizes of 1 in front of the value's others do not count. Where the part is a view, the value is
    /// converted to the tensor's dtype and may come from any device. Where it is chosen by index
    /// tensors, its dtype must be the tensor's; if several values go to one element, one of
    /// them stays, on the CPU the last.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let x = Tensor::zeros([3, 4], ())?;
    /// x.set_i(0, 1.0)?;
    /// x.set_i((1.., 2..), &tensor![5.0, 6.0]?)?;
    /// x.set_i(([1, 2], [0, 1]), &tensor![7.0, 8.0]?)?;
    /// x.set_i(&x.eq(0.0)?, -1.0)?;
    /// let expected = [1.0, 1.0, 1.0, 1.0, 7.0, -1.0, 5.0, 6.0, -1.0, 8.0, 5.0, 6.0];
    /// assert_eq!(x.to_vec::<f32>()?, expected);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::i`] and [`Tensor::copy_`]: the value does not broadcast to the part, the dtype has
    /// no such number, or the tensor is a leaf that requires gradients.
    #[track_caller]
    pub fn set_i<'a>(
        &self,
        indices: impl Into<TensorIndices>,
        value: impl Into<TensorOrScalar<'a>>,
    ) -> Result<Tensor> {
        const OP: &str = "set_i";
        let selection = Selection::new(OP, self, &indices.into().0)?;
        let value = value.into();
        let short = value.tensor().map(without_leading_ones).transpose()?;
        let value = short.as_ref().map_or(value, TensorOrScalar::Tensor);
        match selection.mask_to_fill(value)? {
            Some(mask) => selection.fill(OP, &mask, value)?,
            None => selection.put(OP, value, false)?,
        }
        Ok(self.clone())
    }

    /// A copy of the tensor whose part that indices choose is `value`, or with `value` added to it if
    /// `accumulate`.
    ///
    /// ```
    /// use tensor::{Tensor, tensor};
    /// let votes = tensor![2, 0, 2, 2]?;
    /// let counts = Tensor::zeros([3], ())?.index_put(&votes, 1.0, true)?;
    /// assert_eq!(counts.to_vec::<f32>()?, [1.0, 0.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::i`]; the value has another dtype than the tensor, or does not broadcast to the
    /// part.
    #[track_caller]
    pub fn index_put<'a>(
        &self,
        indices: impl Into<TensorIndices>,
        value: impl Into<TensorOrScalar<'a>>,
        accumulate: bool,
    ) -> Result<Tensor> {
        const OP: &str = "index_put";
        let output = self.clone_data()?;
        Selection::new(OP, &output, &indices.into().0)?.put(OP, value.into(), accumulate)?;
        Ok(output)
    }

    /// [`Tensor::index_put`] in place; gives the same handle.
    ///
    /// ```
    /// use tensor::{DType, Tensor};
    /// let x = Tensor::zeros([3], DType::I64)?;
    /// x.index_put_([0, 0, 2], 1, true)?;
    /// assert_eq!(x.to_vec::<i64>()?, [2, 0, 1]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::index_put`] and [`Tensor::copy_`].
    #[track_caller]
    pub fn index_put_<'a>(
        &self,
        indices: impl Into<TensorIndices>,
        value: impl Into<TensorOrScalar<'a>>,
        accumulate: bool,
    ) -> Result<Tensor> {
        const OP: &str = "index_put_";
        Selection::new(OP, self, &indices.into().0)?.put(OP, value.into(), accumulate)?;
        Ok(self.clone())
    }
}

impl Selection {
    /// Puts a value to what was chosen, or adds it there.
    #[track_caller]
    fn put(&self, op: &'static str, value: TensorOrScalar<'_>, accumulate: bool) -> Result<()> {
        let Selection { view, chosen } = self;
        match value {
            _ if !chosen.is_empty() => return put_at(op, view, chosen, value, accumulate),
            value if accumulate => view.add_(value)?,
            TensorOrScalar::Tensor(value) => view.assign(op, value, Blocking::Yes)?,
            TensorOrScalar::Scalar(number) => {
                expect_fits(op, "value", number, view.dtype())?;
                view.set_all(op, number)?
            }
        };
        Ok(())
    }

    /// The mask that alone chooses what one number is put to, broadcast to the view: its true elements
    /// need not be found.
    #[track_caller]
    fn mask_to_fill(&self, value: TensorOrScalar<'_>) -> Result<Option<Tensor>> {
        match &*self.chosen {
            [index] if index.is_mask() && value.tensor().is_none_or(|value| value.dims() == 0) => {
                let mut shape = index.tensor.shape().to_vec();
                shape.resize(self.view.dims() - index.dim, 1);
                index.tensor.to(self.view.device())?.reshape(shape).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Fills what a mask chooses.
    #[track_caller]
    fn fill(&self, op: &'static str, mask: &Tensor, value: TensorOrScalar<'_>) -> Result<()> {
        let dtype = self.view.dtype();
        match value {
            TensorOrScalar::Tensor(value) => self.view.masked_fill_(mask, &value.to(dtype)?)?,
            TensorOrScalar::Scalar(number) => {
                expect_fits(op, "value", number, dtype)?;
                let number = Scalar::from_bits(number.bits(dtype), dtype);
                self.view.masked_fill_(mask, number)?
            }
        };
        Ok(())
    }
}

/// The tensor without the sizes of 1 in front of the others.
#[track_caller]
fn without_leading_ones(x: &Tensor) -> Result<Tensor> {
    match x.shape().iter().take_while(|&&size| size == 1).count() {
        0 => Ok(x.clone()),
        ones => x.reshape(&x.shape()[ones..]),
    }
}
