//! The order in which the dimensions of a tensor lie in memory.

use crate::{Error, Result, Tensor};

/// The order of dimensions in memory (`torch.memory_format`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryFormat {
    /// Row-major order.
    Contiguous,
    /// The channels of pictures (N, C, H, W) innermost.
    ChannelsLast,
    /// The channels of volumes (N, C, D, H, W) innermost.
    ChannelsLast3d,
}

impl Tensor {
    /// The same elements in a memory format: the tensor itself if they lie so already, else a copy.
    ///
    /// ```
    /// use tensor::{MemoryFormat, Tensor};
    /// let x = Tensor::zeros([1, 2, 3, 4], ())?.contiguous_in(MemoryFormat::ChannelsLast)?;
    /// assert_eq!((x.shape(), x.strides()), (&[1, 2, 3, 4][..], &[24, 1, 8, 2][..]));
    /// # Ok::<(), tensor::Error>(())
    /// ```
    ///
    /// # Errors
    /// The tensor has another number of dimensions than the format; memory is short.
    #[track_caller]
    pub fn contiguous_in(&self, format: MemoryFormat) -> Result<Tensor> {
        let (last, first): (&[isize], &[isize]) = match format {
            MemoryFormat::Contiguous => return self.contiguous(),
            MemoryFormat::ChannelsLast => (&[0, 2, 3, 1], &[0, 3, 1, 2]),
            MemoryFormat::ChannelsLast3d => (&[0, 2, 3, 4, 1], &[0, 4, 1, 2, 3]),
        };
        if self.dims() != last.len() {
            return Err(Error::InvalidArgument {
                op: "contiguous_in",
                argument: "format",
                value: format!("{format:?} for {} dimensions", self.dims()),
                why: "channels-last formats have 4 dimensions, or 5 in 3d",
            });
        }
        let moved = self.permute(last)?;
        if moved.is_contiguous() {
            return Ok(self.clone());
        }
        moved.contiguous()?.permute(first)
    }
}
