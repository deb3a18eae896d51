//! The handwritten digits, and each rank's share of them.

use std::fs::File;

use flate2::read::GzDecoder;
use sluice::prelude::*;
use sluice::{Error, fold_in, with_manual_seed};

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits.csv.gz");
/// The images that are learned from; the others are for the test.
const TRAIN: usize = 1437;
/// The largest value of a pixel.
const WHITE: f32 = 16.0;

/// Images of 8x8 pixels in `0..=1`, and the digits they show.
pub(crate) struct DigitTensors {
    images: Tensor,
    labels: Tensor,
}

impl DigitTensors {
    pub(crate) fn read() -> Result<DigitTensors> {
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(GzDecoder::new(File::open(PATH)?));
        let (mut images, mut labels) = (Vec::new(), Vec::new());
        for row in reader.deserialize::<Vec<u8>>() {
            let row = row.map_err(Error::other)?;
            let (label, image) = row.split_last().ok_or_else(|| Error::other("an empty row"))?;
            images.extend(image.iter().map(|&pixel| f32::from(pixel) / WHITE));
            labels.push(i64::from(*label));
        }
        let count = labels.len();
        Ok(DigitTensors {
            images: Tensor::from_vec(images, [count, 64], ())?,
            labels: Tensor::from_vec(labels, [count], ())?,
        })
    }

    /// The training images of a rank, in the order of an epoch: every `ranks`-th one of an order
    /// that is the same on all ranks.
    pub(crate) fn share(&self, epoch: usize, rank: usize, ranks: usize) -> Result<Vec<i64>> {
        let order = with_manual_seed(fold_in(7, epoch as u64), || Tensor::randperm(TRAIN, ()))?;
        Ok(order.to_vec::<i64>()?.into_iter().skip(rank).step_by(ranks).collect())
    }

    /// The images and labels with these numbers.
    pub(crate) fn batch(&self, numbers: &[i64]) -> Result<(Tensor, Tensor)> {
        let numbers = Tensor::from_vec(numbers.to_vec(), [numbers.len()], ())?;
        Ok((self.images.index_select(0, &numbers)?, self.labels.index_select(0, &numbers)?))
    }

    /// The images and labels for the test.
    pub(crate) fn test(&self) -> Result<(Tensor, Tensor)> {
        let count = self.labels.numel() - TRAIN;
        Ok((self.images.narrow(0, TRAIN, count)?, self.labels.narrow(0, TRAIN, count)?))
    }
}
