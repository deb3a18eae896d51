//! The check that replicas have the same parameters.

use nn::Module;
use tensor::{DType, Device, Tensor};

use super::{Replicas, ReplicasError, Result};

impl<M: Module> Replicas<M> {
    /// Checks that all replicas have the same parameters, bit by bit. Waits for all devices, and
    /// copies every parameter to the host: for tests, or from time to time
    /// ([`ReplicasBuilder::verify_every`](crate::ReplicasBuilder::verify_every)).
    ///
    /// # Errors
    /// A parameter differs, which can only be if a program changed the parameters of one replica; or a
    /// device failed.
    pub fn verify(&self) -> Result<()> {
        let all: Vec<_> = self.replicas.iter().map(|r| r.model.named_parameters()).collect();
        for (place, (name, parameter)) in all[0].iter().enumerate() {
            let expected = bits(parameter)?;
            for (rank, own) in all.iter().enumerate().skip(1) {
                if bits(&own[place].1)? != expected {
                    let (name, device) = (name.clone(), self.devices()[rank]);
                    return Err(ReplicasError::Diverged { name, rank, device });
                }
            }
        }
        Ok(())
    }
}

/// The bits of a parameter's elements, widened.
fn bits(parameter: &Tensor) -> Result<Vec<u64>> {
    let wide = parameter.detach().to((DType::F64, Device::Cpu))?;
    Ok(wide.to_vec::<f64>()?.into_iter().map(f64::to_bits).collect())
}
