//! Tensors made of storages.

use crate::layout::Layout;
use crate::storage::Storage;
use crate::{DType, Error, Result, Shape, Tensor};

impl Tensor {
    /// A one-dimensional tensor of all of a storage, with its bytes as elements of `dtype`. It
    /// shares the memory with all other tensors of the storage, and has no history.
    ///
    /// # Errors
    /// The storage does not hold a whole number of such elements.
    ///
    /// ```
    /// use tensor::{DType, Tensor, tensor};
    ///
    /// let x = tensor![1.0, 2.0]?;
    /// let again = Tensor::from_storage(x.storage(), DType::F32)?;
    /// again.add_(1.0)?;
    /// assert_eq!(x.to_vec::<f32>()?, [2.0, 3.0]);
    /// assert_eq!(Tensor::from_storage(x.storage(), DType::U8)?.numel(), 8);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    pub fn from_storage(storage: &Storage, dtype: DType) -> Result<Tensor> {
        if !storage.nbytes().is_multiple_of(dtype.size()) {
            return Err(Error::InvalidArgument {
                op: "from_storage",
                argument: "storage",
                value: format!("{} bytes", storage.nbytes()),
                why: "it must hold a whole number of elements of the dtype",
            });
        }
        let layout = Layout::contiguous(Shape::from([storage.nbytes() / dtype.size()]));
        Tensor::view_of(storage, layout, dtype)
    }
}

impl Storage {
    /// A copy in page-locked host memory; the storage itself where it is page-locked already.
    ///
    /// # Errors
    /// As [`Tensor::pin_memory`].
    ///
    /// ```
    /// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
    /// use tensor::{DType, Tensor, tensor};
    ///
    /// let x = tensor![1.0, 2.0]?;
    /// let pinned = x.storage().pin_memory()?;
    /// assert!(pinned.is_pinned() && !x.storage().is_pinned());
    /// assert_eq!(Tensor::from_storage(&pinned, DType::F32)?.to_vec::<f32>()?, [1.0, 2.0]);
    /// # Ok::<(), tensor::Error>(())
    /// ```
    #[track_caller]
    pub fn pin_memory(&self) -> Result<Storage> {
        let bytes = Tensor::from_storage(self, DType::U8)?;
        Ok(bytes.pin_memory()?.storage().clone())
    }
}
