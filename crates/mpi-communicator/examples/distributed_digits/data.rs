//! The handwritten digits.

use std::fs::File;

use flate2::read::GzDecoder;
use sluice::Error;
use sluice::data::TensorDataset;
use sluice::prelude::*;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/digits.csv.gz");
/// The images that are learned from; the others are for the test.
const TRAIN: usize = 1437;
/// The largest value of a pixel.
const WHITE: f32 = 16.0;

/// Images of 8x8 pixels in `0..=1`, and the digits they show.
pub(crate) type DigitTensors = (Tensor, Tensor);

/// The images to learn from, one by one, and those for the test.
pub(crate) fn read() -> Result<(TensorDataset<DigitTensors>, DigitTensors)> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).from_reader(GzDecoder::new(File::open(PATH)?));
    let (mut images, mut labels) = (Vec::new(), Vec::new());
    for row in reader.deserialize::<Vec<u8>>() {
        let row = row.map_err(Error::other)?;
        let (label, image) = row.split_last().ok_or_else(|| Error::other("an empty row"))?;
        images.extend(image.iter().map(|&pixel| f32::from(pixel) / WHITE));
        labels.push(i64::from(*label));
    }
    let count = labels.len();
    let images = Tensor::from_vec(images, [count, 64], ())?;
    let labels = Tensor::from_vec(labels, [count], ())?;
    let part =
        |first, count| Ok((images.narrow(0, first, count)?, labels.narrow(0, first, count)?));
    let train: Result<DigitTensors> = part(0, TRAIN);
    Ok((TensorDataset::new(train?)?, part(TRAIN, count - TRAIN)?))
}
