//! Dropout of whole channels, and the kinds of it that keep mean and variance.

use super::ops::expect;
use crate::{Error, Result, Tensor};

/// The value that `selu` tends to for small numbers, in the place of which alpha dropout puts what
/// it drops: minus its scale times its alpha.
const SATURATED: f64 = -1.758_099_340_847_376_6;

/// Dropout of channels, for `[batch, channels, ..]`, and alpha dropout. Which are dropped is drawn as
/// in [`Tensor::dropout`]; else than in training, and for `p` = 0, all give the tensor itself.
impl Tensor {
    /// Sets channels of a sequence `[batch, channels, length]`, or `[channels, length]`, to zero with
    /// probability `p`, and scales the others by `1 / (1 - p)`.
    ///
    /// ```
    /// use tensor::Tensor;
    /// let y = Tensor::ones([4, 8, 2], ())?.dropout1d(0.5, true)?;
    /// assert!(y.amax(2)?.equal(&y.amin(2)?)?);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is no probability; the tensor has another number of dimensions, or is of no floats.
    #[track_caller]
    pub fn dropout1d(&self, p: f64, training: bool) -> Result<Tensor> {
        self.channel_dropout(
            "dropout1d",
            p,
            training,
            ChannelForms { batched: &[3], unbatched: Some(2) },
        )
    }

    /// [`Tensor::dropout1d`] of images `[batch, channels, height, width]`; with three dimensions they
    /// are `[batch, channels, length]`.
    ///
    /// # Errors
    /// As [`Tensor::dropout1d`].
    #[track_caller]
    pub fn dropout2d(&self, p: f64, training: bool) -> Result<Tensor> {
        self.channel_dropout(
            "dropout2d",
            p,
            training,
            ChannelForms { batched: &[4, 3], unbatched: None },
        )
    }

    /// [`Tensor::dropout1d`] of volumes `[batch, channels, depth, height, width]`, or without the
    /// batch.
    ///
    /// # Errors
    /// As [`Tensor::dropout1d`].
    #[track_caller]
    pub fn dropout3d(&self, p: f64, training: bool) -> Result<Tensor> {
        self.channel_dropout(
            "dropout3d",
            p,
            training,
            ChannelForms { batched: &[5], unbatched: Some(4) },
        )
    }

    /// Alpha dropout: sets elements to the value that [`selu`](Tensor::selu) saturates at with
    /// probability `p`, and brings the result to the mean and variance that it had.
    ///
    /// G. Klambauer et al.: "Self-Normalizing Neural Networks" (NeurIPS 2017).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let y = Tensor::randn([10_000], ())?.alpha_dropout(0.3, true)?;
    /// assert!(y.mean(())?.item::<f32>()?.abs() < 0.1);
    /// assert!((y.std((), 1)?.item::<f32>()? - 1.0).abs() < 0.1);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// `p` is no probability; in training also: the tensor is of no floats.
    #[track_caller]
    pub fn alpha_dropout(&self, p: f64, training: bool) -> Result<Tensor> {
        const OP: &str = "alpha_dropout";
        check(OP, p)?;
        self.saturated(OP, p, training, self.shape())
    }

    /// [`Tensor::alpha_dropout`] of whole channels of `[batch, channels, ..]`.
    ///
    /// # Errors
    /// As [`Tensor::alpha_dropout`]; in training also: there are less than two dimensions.
    #[track_caller]
    pub fn feature_alpha_dropout(&self, p: f64, training: bool) -> Result<Tensor> {
        const OP: &str = "feature_alpha_dropout";
        check(OP, p)?;
        if training && p > 0.0 && self.dims() < 2 {
            return Err(Error::WrongDims {
                op: OP,
                shape: self.layout().shape().clone(),
                expected: 2,
            });
        }
        self.saturated(OP, p, training, &self.one_for_each(2))
    }

    #[track_caller]
    fn channel_dropout(
        &self,
        op: &'static str,
        p: f64,
        training: bool,
        forms: ChannelForms,
    ) -> Result<Tensor> {
        check(op, p)?;
        let leading = match self.dims() {
            dims if forms.batched.contains(&dims) => 2,
            dims if Some(dims) == forms.unbatched => 1,
            _ => {
                let shape = self.layout().shape().clone();
                return Err(Error::WrongDims { op, shape, expected: forms.batched[0] });
            }
        };
        if !training || p == 0.0 {
            return Ok(self.clone());
        }
        self.expect_floats(op)?;
        let ones = Tensor::ones(&*self.one_for_each(leading), (self.dtype(), self.device()))?;
        self.mul(&ones.dropout(p, true)?)
    }

    /// Alpha dropout with a draw for each element of `shape`, which is broadcast.
    #[track_caller]
    fn saturated(
        &self,
        op: &'static str,
        p: f64,
        training: bool,
        shape: &[usize],
    ) -> Result<Tensor> {
        if !training || p == 0.0 || self.numel() == 0 {
            return Ok(self.clone());
        }
        self.expect_floats(op)?;
        if p == 1.0 {
            return self.mul(0.0);
        }
        let kept = Tensor::empty(shape, (self.dtype(), self.device()))?.bernoulli_(1.0 - p)?;
        let scale = ((SATURATED * SATURATED * p + 1.0) * (1.0 - p)).powf(-0.5);
        // x where it is kept, else the saturated value, times the scale, moved to the old mean.
        let shifted = self.mul(scale)?.sub(SATURATED * scale)?;
        shifted.mul(&kept)?.add(SATURATED * scale * (1.0 - p))
    }

    /// The shape that has one element for each index of the leading dimensions.
    fn one_for_each(&self, leading: usize) -> Vec<usize> {
        let size = |(dim, &size): (usize, &usize)| if dim < leading { size } else { 1 };
        self.shape().iter().enumerate().map(size).collect()
    }
}

/// The numbers of dimensions of tensors with channels.
struct ChannelForms {
    batched: &'static [usize],
    unbatched: Option<usize>,
}

fn check(op: &'static str, p: f64) -> Result<()> {
    expect(op, "p", p, (0.0..=1.0).contains(&p), "it must lie in [0, 1]")
}
