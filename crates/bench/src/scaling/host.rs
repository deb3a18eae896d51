//! What a step costs the host, measured: a perceptron whose kernels are tiny.

use std::time::{Duration, Instant};

use gpu_runtime::DriverChoice;
use nn::optim::SGD;
use nn::{Forward, Linear, Sequential};
use parallel::Replicas;
use parking_lot::Mutex;
use rustix::time::{ClockId, clock_gettime};
use tensor::{Device, Tensor, cuda};

use crate::error::Result;

/// Layers of a weight and a bias each.
const LAYERS: usize = 100;
pub(super) const PARAMETERS: usize = 2 * LAYERS;
const WIDTH: usize = 4;

const WARM_UP: usize = 5;
const MEASURED: usize = 41;

/// The medians of two times: until `step` returns, and the processor time of a replica's thread. The
/// devices are idle when a step begins.
///
/// # Errors
/// A device failed.
pub(super) fn step(devices: usize) -> Result<[Duration; 2]> {
    gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(devices as u32) })?;
    let mut model = Sequential::new();
    for _ in 0..LAYERS {
        model = model.push(Linear::new(WIDTH, WIDTH)?);
    }
    let mut replicas = Replicas::builder(model, (0..devices).map(Device::cuda_at))
        .optimizer(|parameters| SGD::new(parameters, 0.01).build())
        .verify_every(0)
        .build()?;
    let busy: Vec<Mutex<Vec<Duration>>> = (0..devices).map(|_| Mutex::default()).collect();
    let loss = |model: &Sequential, part: Tensor| {
        if let Device::Cuda(Some(index)) = part.device() {
            busy[index].lock().push(of_this_thread());
        }
        model.forward(&part)?.square()?.mean(())
    };
    let mut times = Vec::new();
    for _ in 0..WARM_UP + MEASURED {
        let batch = Tensor::ones([devices, WIDTH], ())?;
        let begin = Instant::now();
        replicas.step(batch, loss)?;
        times.push(begin.elapsed());
        (0..devices).try_for_each(|index| cuda::synchronize(Device::cuda_at(index)))?;
    }
    let of_steps = |times: Mutex<Vec<Duration>>| {
        let times = times.into_inner();
        times.windows(2).map(|pair| pair[1] - pair[0]).skip(WARM_UP).collect::<Vec<_>>()
    };
    let busy = busy.into_iter().flat_map(of_steps).collect();
    Ok([median(times.split_off(WARM_UP)), median(busy)])
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The processor time of the calling thread.
fn of_this_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
