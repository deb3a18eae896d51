//! A tensor's numbers on the host.

use tensor::{DType, Tensor};

use crate::failure::CaseFailure;
use crate::folder::{HostArray, decode, size_of};

/// The numbers of a tensor, through its bytes, so that every dtype is read in one way.
///
/// # Errors
/// They could not be copied.
pub(crate) fn to_host(tensor: &Tensor) -> Result<HostArray, CaseFailure> {
    let broken = |why: &str| CaseFailure::Elsewhere(format!("reading a result: {why}"));
    let dense = tensor.detach().contiguous()?.cpu()?;
    let dtype = dense.dtype().short_name();
    let bytes = Tensor::from_storage(dense.storage(), DType::U8)?.to_vec::<u8>()?;
    let size = size_of(dtype).ok_or_else(|| broken("an unknown dtype"))?;
    let start = dense.storage_offset() * size;
    let own = bytes.get(start..start + dense.numel() * size);
    let numbers = own.and_then(|own| decode(dtype, own)).ok_or_else(|| broken("its bytes"))?;
    Ok(HostArray { dtype: dtype.to_owned(), shape: dense.shape().to_vec(), numbers })
}
