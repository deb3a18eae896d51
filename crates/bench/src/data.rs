//! The loader: shuffled batches of images, with transformations of different weight.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use parallel::{DataLoader, Dataset, PutError, RandomSampler, Sampler};
use rustix::time::{ClockId, clock_gettime};
use tensor::StackBuffer;

use crate::error::Result;
use crate::harness::Bench;
use crate::metric::Metric;
use crate::place::BenchTarget;

/// Pixels along each edge of an image.
const EDGE: usize = 28;
const PIXELS: usize = EDGE * EDGE;
/// The most pixels that an image is shifted by.
const SHIFT: usize = 2;
/// The mean and the deviation that pixels are normalised by.
const MEAN: f32 = 0.1307;
const DEVIATION: f32 = 0.3081;

const BATCH: usize = 64;
/// The time that a heavy transformation keeps its thread busy.
const HEAVY: Duration = Duration::from_micros(200);

/// The transformation of an image before it goes into a batch.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Transform {
    None,
    /// A shift and a normalisation.
    Light,
    /// The same, and as much again as keeps a thread busy for a while.
    Heavy,
}

struct Images {
    pixels: Vec<[f32; PIXELS]>,
    transform: Transform,
}

/// The same, whose samples go to the batch by way of `get`.
struct ByGet(Images);

pub(crate) fn run(bench: &mut Bench, _place: &BenchTarget) -> Result<()> {
    for (name, transform, count) in [
        ("none", Transform::None, 60_000),
        ("light", Transform::Light, 60_000),
        ("heavy", Transform::Heavy, 6_000),
    ] {
        let images = || Images { pixels: vec![[0.5; PIXELS]; count], transform };
        let metric = Metric::Samples { count };
        let case = format!("data/{name}_alone");
        if bench.wants(&case) {
            bench.report(&case, metric, alone(&images()))?;
        }
        for workers in [0, 2] {
            let case = format!("data/{name}_w{workers}");
            if bench.wants(&case) {
                bench.report(&case, metric, epochs(images(), workers))?;
            }
            let case = format!("data/{name}_get_w{workers}");
            if bench.wants(&case) {
                bench.report(&case, metric, epochs(ByGet(images()), workers))?;
            }
        }
    }
    Ok(())
}

/// The seconds of two epochs of the transformations alone, in the order that a loader reads them in:
/// each image is written to the same place, which stays in the first-level cache.
fn alone(images: &Images) -> Result<Vec<f64>> {
    let order: Vec<usize> = RandomSampler::new(images.len(), 0).iter(0)?.collect();
    let epoch = |_| {
        let mut pixels = [0.0; PIXELS];
        let start = Instant::now();
        for &index in &order {
            images.read(index, &mut pixels);
            std::hint::black_box(&mut pixels);
        }
        start.elapsed().as_secs_f64()
    };
    Ok((0..3).map(epoch).skip(1).collect())
}

/// The seconds of two epochs. One before them, in which memory is touched first, does not count.
fn epochs(
    images: impl Dataset<Sample = LabelledImage> + 'static,
    workers: usize,
) -> Result<Vec<f64>> {
    let loader =
        DataLoader::builder(images).batch_size(BATCH).shuffle(0).workers(workers).build()?;
    let epoch = |_| {
        let start = Instant::now();
        for batch in &loader {
            std::hint::black_box(batch?);
        }
        Ok(start.elapsed().as_secs_f64())
    };
    let seconds: Vec<f64> = (0..3).map(epoch).collect::<Result<_>>()?;
    Ok(seconds[1..].to_vec())
}

/// An image and its label.
type LabelledImage = ([f32; PIXELS], i64);

impl Images {
    /// Writes a transformed image.
    fn read(&self, index: usize, into: &mut [f32]) {
        match self.transform {
            Transform::None => into.copy_from_slice(&self.pixels[index]),
            Transform::Light | Transform::Heavy => light(&self.pixels[index], index, into),
        }
        if self.transform == Transform::Heavy {
            keep_busy(HEAVY);
        }
    }

    fn label(index: usize) -> i64 {
        (index % 10) as i64
    }
}

impl Dataset for Images {
    type Sample = LabelledImage;
    type Error = Infallible;

    fn len(&self) -> usize {
        self.pixels.len()
    }

    fn get(&self, index: usize) -> std::result::Result<LabelledImage, Infallible> {
        let mut sample = ([0.0; PIXELS], Images::label(index));
        self.read(index, &mut sample.0);
        Ok(sample)
    }

    fn get_into(
        &self,
        index: usize,
        (pixels, label): &mut (StackBuffer, StackBuffer),
    ) -> std::result::Result<(), PutError<Infallible>> {
        self.read(index, pixels.push_empty(&[PIXELS])?);
        Ok(label.push_data(&Images::label(index))?)
    }
}

impl Dataset for ByGet {
    type Sample = LabelledImage;
    type Error = Infallible;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn get(&self, index: usize) -> std::result::Result<LabelledImage, Infallible> {
        self.0.get(index)
    }
}

/// Writes the image, normalised and shifted by a distance that differs from index to index. What
/// comes in from outside is zero.
fn light(image: &[f32; PIXELS], index: usize, shifted: &mut [f32]) {
    let distances = 2 * SHIFT + 1;
    // Knuth's multiplicative hashing: neighbours are shifted differently.
    let hash = index.wrapping_mul(2_654_435_761) >> 7;
    let (down, right) = (hash % distances, hash / distances % distances);

    shifted.fill(0.0);
    for row in down.saturating_sub(SHIFT)..EDGE.min(EDGE + down - SHIFT) {
        let columns = right.saturating_sub(SHIFT)..EDGE.min(EDGE + right - SHIFT);
        let source = (row + SHIFT - down) * EDGE + columns.start + SHIFT - right;
        let into = &mut shifted[row * EDGE..][columns];
        for (into, from) in into.iter_mut().zip(&image[source..]) {
            *into = (from - MEAN) / DEVIATION;
        }
    }
}

/// Uses so much of the processor's time; waiting for the processor does not count.
fn keep_busy(time: Duration) {
    let begin = time_of_thread();
    while time_of_thread() - begin < time {}
}

/// The processor time of this thread.
fn time_of_thread() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(image: &[f32; PIXELS], index: usize) -> [f32; PIXELS] {
        let mut shifted = [f32::NAN; PIXELS];
        light(image, index, &mut shifted);
        shifted
    }

    #[test]
    fn a_light_transformation_shifts_and_normalises() {
        let mut image = [MEAN; PIXELS];
        image[14 * EDGE + 14] = MEAN + DEVIATION;
        let mut places: Vec<_> = (0..1000)
            .map(|index| {
                let lit = |pixel: &f32| (pixel - 1.0).abs() < 1e-6;
                shifted(&image, index).iter().position(lit).expect("the pixel stays inside")
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let all: Vec<_> =
            (12..=16).flat_map(|row| (12..=16).map(move |col| row * EDGE + col)).collect();
        assert_eq!(places, all);
    }

    #[test]
    fn what_comes_in_from_outside_is_zero() {
        for index in 0..100 {
            let shifted = shifted(&[1.0; PIXELS], index);
            let kept = shifted.iter().filter(|pixel| **pixel != 0.0).count();
            assert!((26 * 26..=PIXELS).contains(&kept), "{kept} of {PIXELS} at {index}");
        }
    }

    #[test]
    fn time_of_the_thread_passes() {
        let begin = time_of_thread();
        keep_busy(Duration::from_micros(50));
        assert!(time_of_thread() - begin >= Duration::from_micros(50));
    }
}
