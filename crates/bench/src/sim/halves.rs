//! The product of two matrices of halves, as the tensor library launches it: on tensor cores, from tiles
//! in shared memory, of which some are copied while others are multiplied.

use tensor::{DType, Device, Tensor, cuda};

use super::launches::EDGE;
use crate::error::{Error, Result};

/// The matrices on the software driver's first device.
pub(super) struct HalvesProduct {
    device: Device,
    factors: [Tensor; 2],
}

impl HalvesProduct {
    /// The matrices of the case in `f32`. They have been multiplied once, with the right result.
    pub(super) fn prepare() -> Result<HalvesProduct> {
        let device = Device::cuda_at(0);
        let filled = |value: f64| Tensor::full([EDGE, EDGE], value, (DType::F16, device));
        let product = HalvesProduct { device, factors: [filled(1.5)?, filled(0.5)?] };
        let expected = 0.75 * EDGE as f32;
        match product.launch()?.to(DType::F32)?.to_vec::<f32>()?.iter().find(|&&x| x != expected) {
            Some(wrong) => {
                Err(Error::Apart(format!("a product of halves gives {wrong}, not {expected}")))
            }
            None => Ok(product),
        }
    }

    /// Enqueues a product.
    pub(super) fn launch(&self) -> Result<Tensor> {
        let [a, b] = &self.factors;
        Ok(a.matmul(b)?)
    }

    /// Waits for all products.
    pub(super) fn finish(&self) -> Result<()> {
        Ok(cuda::synchronize(self.device)?)
    }
}
