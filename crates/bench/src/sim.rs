//! Kernels on the software driver, against the same loop in plain Rust on as many threads.

use std::hint::black_box;
use std::thread;

use gpu_runtime::{DriverKind, driver_kind};
use tensor::{Device, Tensor};

use crate::error::Result;
use crate::harness::Bench;
use crate::launcher::Saxpy;
use crate::metric::Metric;
use crate::place::Place;

const NUMEL: usize = 1 << 24;
const ADD: &str = "sim/add_16M";
const SAXPY: &str = "sim/saxpy_16M";

pub(crate) fn run(bench: &mut Bench, place: &Place) -> Result<()> {
    let gpu = place.gpu()?;
    if driver_kind()? != DriverKind::Software {
        bench.missing(ADD, Metric::Ratio)?;
        return bench.missing(SAXPY, Metric::Ratio);
    }
    if bench.wants(ADD) {
        add(bench, place, Device::cuda_at(gpu.index()))?;
    }
    if bench.wants(SAXPY) {
        saxpy(bench, place, gpu)?;
    }
    Ok(())
}

/// A tensor's operation. Both sides write into memory that was used before.
fn add(bench: &mut Bench, place: &Place, device: Device) -> Result<()> {
    let (x, y, mut sum) = (vec![1.5f32; NUMEL], vec![0.5f32; NUMEL], vec![0.0f32; NUMEL]);
    let plain = || {
        split(place.threads(), &mut sum, |from, sum| {
            for ((sum, x), y) in sum.iter_mut().zip(&x[from..]).zip(&y[from..]) {
                *sum = x + y;
            }
        });
        black_box(&sum);
    };
    let (a, b) = (Tensor::full([NUMEL], 1.5, device)?, Tensor::full([NUMEL], 0.5, device)?);
    bench.against(ADD, plain, || {
        let _sum = (&a + &b)?;
        Ok(tensor::cuda::synchronize(device)?)
    })
}

/// A launch of the runtime, without tensors.
fn saxpy(bench: &mut Bench, place: &Place, gpu: gpu_runtime::Device) -> Result<()> {
    // So small that the sum stays finite however often it is taken.
    const A: f32 = 1e-9;
    let (x, mut y) = (vec![1.5f32; NUMEL], vec![0.5f32; NUMEL]);
    let mut on_gpu = Saxpy::new(gpu, &x, &y)?;
    let plain = || {
        split(place.threads(), &mut y, |from, y| {
            for (y, x) in y.iter_mut().zip(&x[from..]) {
                *y += A * x;
            }
        });
        black_box(&y);
    };
    bench.against(SAXPY, plain, || on_gpu.run(A))
}

/// Calls `work(start, piece)` on a piece of `whole` in each thread.
fn split(threads: usize, whole: &mut [f32], work: impl Fn(usize, &mut [f32]) + Sync) {
    let length = whole.len().div_ceil(threads);
    thread::scope(|scope| {
        for (index, piece) in whole.chunks_mut(length).enumerate() {
            let work = &work;
            scope.spawn(move || work(index * length, piece));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_is_worked_on_once() {
        let mut whole = vec![0.0; 1000];
        split(3, &mut whole, |from, piece| {
            for (index, element) in piece.iter_mut().enumerate() {
                *element += (from + index) as f32;
            }
        });
        assert!(whole.iter().enumerate().all(|(index, element)| *element == index as f32));
    }
}
