//! Channels and pixels in another order.

use crate::checked_size::CheckedSize;
use crate::{Error, Result, Tensor};

/// Channels as pixels, pixels as channels, and channels among each other. Nothing is computed: the
/// results are copies, of any dtype.
impl Tensor {
    /// `[.., c * r * r, h, w]` as `[.., c, h * r, w * r]`: each pixel becomes a square of `r` by `r`, of
    /// elements that were channels.
    ///
    /// W. Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
    /// Convolutional Neural Network" (2016).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::arange(8.0, ())?.reshape([4, 1, 2])?.pixel_shuffle(2)?;
    /// assert_eq!(x.shape(), [1, 2, 4]);
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than three dimensions, the channels are no multiple of `r * r`, or `r` is 0.
    #[track_caller]
    pub fn pixel_shuffle(&self, upscale_factor: usize) -> Result<Tensor> {
        const OP: &str = "pixel_shuffle";
        let (leading, [channels, height, width]) = last_three(OP, self)?;
        let r = upscale_factor;
        let square = r.checked_mul(r).filter(|square| *square > 0 && channels % square == 0);
        let Some(square) = square else {
            let why = "its square must divide the number of channels";
            return Err(refused(OP, "upscale_factor", r, why));
        };
        let (rows, columns) = (enlarged(OP, height, r)?, enlarged(OP, width, r)?);
        let own = channels / square;
        let split = self.reshape([leading.product(), own, r, r, height, width])?;
        let mixed = split.permute((0, 1, 4, 2, 5, 3))?;
        mixed.reshape(leading.with([own, rows, columns]))
    }

    /// `[.., c, h * r, w * r]` as `[.., c * r * r, h, w]`, which undoes [`Tensor::pixel_shuffle`].
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::arange(8.0, ())?.reshape([1, 2, 4])?.pixel_unshuffle(2)?;
    /// assert_eq!(x.shape(), [4, 1, 2]);
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 2.0, 1.0, 3.0, 4.0, 6.0, 5.0, 7.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than three dimensions, the last two are no multiples of `r`, or `r` is 0.
    #[track_caller]
    pub fn pixel_unshuffle(&self, downscale_factor: usize) -> Result<Tensor> {
        const OP: &str = "pixel_unshuffle";
        let (leading, [channels, rows, columns]) = last_three(OP, self)?;
        let r = downscale_factor;
        if r == 0 || rows % r != 0 || columns % r != 0 {
            let why = "it must divide the last two sizes";
            return Err(refused(OP, "downscale_factor", r, why));
        }
        let all = (CheckedSize::from(channels) * r * r).size();
        let all = all.ok_or_else(|| refused(OP, "downscale_factor", r, "it is too large"))?;
        let (height, width) = (rows / r, columns / r);
        let split = self.reshape([leading.product(), channels, height, r, width, r])?;
        let mixed = split.permute((0, 1, 3, 5, 2, 4))?;
        mixed.reshape(leading.with([all, height, width]))
    }

    /// `[batch, groups * c, ..]` with its channels in the order in which groups take turns.
    ///
    /// X. Zhang et al., "ShuffleNet: An Extremely Efficient Convolutional Neural Network for Mobile
    /// Devices" (2018).
    ///
    /// ```
    /// use tensor::Tensor;
    /// let x = Tensor::arange(4.0, ())?.reshape([1, 4, 1])?.channel_shuffle(2)?;
    /// assert_eq!(x.to_vec::<f32>()?, [0.0, 2.0, 1.0, 3.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are fewer than three dimensions, or the groups do not divide the number of channels.
    #[track_caller]
    pub fn channel_shuffle(&self, groups: usize) -> Result<Tensor> {
        const OP: &str = "channel_shuffle";
        last_three(OP, self)?;
        let channels = self.shape()[1];
        if groups == 0 || !channels.is_multiple_of(groups) {
            let why = "they must divide the number of channels";
            return Err(refused(OP, "groups", groups, why));
        }
        let batch = self.shape()[0];
        let rest = self.shape()[2..].iter().product();
        let split = self.reshape([batch, groups, channels / groups, rest])?;
        split.transpose(1, 2)?.reshape(self.shape())
    }
}

/// The sizes before the last three.
struct Leading<'a>(&'a [usize]);

impl Leading<'_> {
    fn product(&self) -> usize {
        self.0.iter().product()
    }

    fn with(&self, last: [usize; 3]) -> Vec<usize> {
        [self.0, &last].concat()
    }
}

fn last_three<'a>(op: &'static str, x: &'a Tensor) -> Result<(Leading<'a>, [usize; 3])> {
    match x.shape() {
        [leading @ .., channels, height, width] => {
            Ok((Leading(leading), [*channels, *height, *width]))
        }
        _ => {
            let shapes = vec![("self", x.layout().shape().clone())];
            let rule = "there must be channels, height and width";
            Err(Error::ShapeMismatch { op, shapes, rule })
        }
    }
}

/// # Errors
/// The size is too large.
fn enlarged(op: &'static str, size: usize, factor: usize) -> Result<usize> {
    let why = "the result is too large";
    size.checked_mul(factor).ok_or_else(|| refused(op, "upscale_factor", factor, why))
}

fn refused(op: &'static str, argument: &'static str, value: usize, why: &'static str) -> Error {
    Error::InvalidArgument { op, argument, value: value.to_string(), why }
}
