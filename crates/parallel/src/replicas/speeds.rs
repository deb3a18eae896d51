//! Devices that are not equally fast.

use std::time::Instant;

use nn::Module;
use tensor::{Device, Error, Tensor, cuda};

use super::replica::{Replica, ReplicaPart};
use super::threads::ReplicaThread;
use super::{Replicas, Result};
use crate::{Split, ToDevice};

impl<M: Module> Replicas<M> {
    /// Splits batches from now on by these speeds, in the order of the devices: a device that is twice
    /// as fast as another one gets twice as many samples, and one of speed 0 none. Equal speeds split
    /// evenly, as it is without.
    ///
    /// Every loss counts by its samples, so gradients are those of the whole batch with any speeds,
    /// within rounding.
    ///
    /// ```
    /// # use nn::{Forward, Linear};
    /// # use parallel::Replicas;
    /// # use tensor::{Device, Tensor};
    /// # gpu_runtime::choose_driver("software:4".parse()?)?;
    /// let devices = [Device::cuda_at(0), Device::cuda_at(1)];
    /// let mut replicas = Replicas::new(Linear::new(3, 2)?, devices)?;
    /// replicas.split_by_speed(&[3.0, 1.0])?;
    /// let batch = Tensor::randn([8, 3], ())?;
    /// let sizes = replicas.map(batch, |_, part| part.size(0))?;
    /// assert_eq!(sizes, [6, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is not one speed for each device; one is negative or no number, or all are 0.
    pub fn split_by_speed(&mut self, speeds: &[f64]) -> Result<()> {
        let wrong = |why| Error::InvalidArgument {
            op: "Replicas::split_by_speed",
            argument: "speeds",
            value: format!("{speeds:?} for {} devices", self.devices().len()),
            why,
        };
        let total: f64 = speeds.iter().sum();
        if speeds.len() != self.devices().len() {
            return Err(wrong("each device has one speed").into());
        }
        if speeds.iter().any(|speed| speed.is_nan() || *speed < 0.0) || !total.is_finite() {
            return Err(wrong("each must be a number, zero or more").into());
        }
        if total == 0.0 {
            return Err(wrong("one device at least must be faster than that").into());
        }
        self.speeds = Some(speeds.to_vec());
        Ok(())
    }

    /// The speeds of the devices, in samples per second, for
    /// [`split_by_speed`](Replicas::split_by_speed): each computes the gradients of an even part of the
    /// batch, once for nothing, since kernels are compiled then, and once against the clock. It waits
    /// for the devices.
    ///
    /// Parameters stay as they are, and gradients are cleared; buffers change as in training. Two
    /// measurements differ, so a training that is to be repeated bit by bit is given speeds that were
    /// written down.
    ///
    /// ```
    /// # use nn::{Forward, Linear};
    /// # use parallel::Replicas;
    /// # use tensor::{Device, Tensor};
    /// # gpu_runtime::choose_driver("software:4".parse()?)?;
    /// # let devices = [Device::cuda_at(0), Device::cuda_at(1)];
    /// # let mut replicas = Replicas::new(Linear::new(3, 2)?, devices)?;
    /// # let batch = Tensor::randn([8, 3], ())?;
    /// let speeds = replicas.measure_speeds(batch, |model, x| model.forward(&x)?.mean(()))?;
    /// replicas.split_by_speed(&speeds)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`step`](Replicas::step); or the batch has fewer samples than there are devices.
    pub fn measure_speeds<B, F>(&mut self, batch: B, loss: F) -> Result<Vec<f64>>
    where
        B: Split + ToDevice + Clone + Send,
        F: Fn(&M, B) -> tensor::Result<Tensor> + Sync,
    {
        let measure =
            |thread: &ReplicaThread, replica: &mut Replica<M>, part: Option<ReplicaPart<B>>| {
                let Some(samples) = part.as_ref().and_then(|part| part.batch.samples()) else {
                    return Ok(None);
                };
                wait_for(thread.device)?;
                let begin = Instant::now();
                replica.accumulate(thread, part, &loss)?;
                wait_for(thread.device)?;
                // A clock that has not ticked would make it infinite.
                let seconds = begin.elapsed().as_secs_f64().max(1e-9);
                Ok(Some(samples as f64 / seconds))
            };
        let before = self.speeds.take();
        let mut run = |batch| self.run_parts(self.split(batch)?, measure);
        let measured = run(batch.clone())
            .and_then(|_| run(batch))
            .map(|speeds| speeds.into_iter().map(|(speed, _)| speed).collect::<Vec<_>>());
        self.speeds = before;
        self.replicas.iter().for_each(|replica| replica.model.clear_gradients());
        match measured? {
            speeds if speeds.len() == self.devices().len() => Ok(speeds),
            speeds => Err(Error::InvalidArgument {
                op: "Replicas::measure_speeds",
                argument: "batch",
                value: format!("samples for {} devices", speeds.len()),
                why: "each device must have a sample to be measured with",
            }
            .into()),
        }
    }
}

fn wait_for(device: Device) -> tensor::Result<()> {
    match device {
        Device::Cpu => Ok(()),
        Device::Cuda(_) => cuda::synchronize(device),
    }
}
