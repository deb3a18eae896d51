//! The handwritten digits: the reader of the file, the dataset, the split.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use csv::StringRecord;
use flate2::read::GzDecoder;
use sluice::data::{Dataset, Subset, random_split};

use super::error::Error;

/// Pixels of an image.
pub(crate) const PIXELS: usize = 64;
/// The largest value of a pixel.
const WHITE: u8 = 16;
const TRAIN: usize = 1437;
const TEST: usize = 360;
/// The most bytes that are read from the unpacked file, four times its size.
const MAX_BYTES: u64 = 1 << 20;
/// The split into training and test is the same in every run.
const SPLIT_SEED: u64 = 1998;

/// Images of 8x8 pixels in `0..=1`, and the digits they show.
#[derive(Clone, Debug)]
pub(crate) struct Digits {
    images: Vec<[f32; PIXELS]>,
    labels: Vec<i64>,
}

impl Digits {
    /// Reads a gzip-compressed file of rows of 64 pixels (0 to 16) and a digit.
    pub(crate) fn read(path: &Path) -> Result<Digits, Error> {
        let file = File::open(path)
            .map_err(|source| Error::Unreadable { path: path.to_owned(), source })?;
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(GzDecoder::new(file).take(MAX_BYTES));
        let digits = rows(path, &mut reader);
        // Checked before the rows, since the last one was cut off.
        if reader.get_ref().limit() == 0 {
            return Err(Error::TooLarge { path: path.to_owned(), limit: MAX_BYTES });
        }
        let digits = digits?;
        match digits.labels.len() {
            found if found == TRAIN + TEST => Ok(digits),
            found => Err(Error::WrongRows { path: path.to_owned(), found, expected: TRAIN + TEST }),
        }
    }

    /// The images to learn from, and those to be tested on.
    pub(crate) fn split(self) -> Result<(Subset<Digits>, Subset<Digits>), Error> {
        let [train, test] = random_split(self, [TRAIN, TEST], SPLIT_SEED)?;
        Ok((train, test))
    }
}

impl Dataset for Digits {
    type Sample = ([f32; PIXELS], i64);
    type Error = sluice::Error;

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn get(&self, index: usize) -> sluice::Result<([f32; PIXELS], i64)> {
        Ok((self.images[index], self.labels[index]))
    }
}

fn rows(path: &Path, reader: &mut csv::Reader<impl Read>) -> Result<Digits, Error> {
    let mut digits = Digits { images: Vec::new(), labels: Vec::new() };
    for (line, record) in (1..).zip(reader.records()) {
        let record = record.map_err(|error| unreadable(path, line, error))?;
        let (image, label) =
            row(&record).map_err(|what| Error::Malformed { path: path.to_owned(), line, what })?;
        digits.images.push(image);
        digits.labels.push(label);
    }
    Ok(digits)
}

fn row(record: &StringRecord) -> Result<([f32; PIXELS], i64), String> {
    if record.len() != PIXELS + 1 {
        return Err(format!("{} numbers, where {} are expected", record.len(), PIXELS + 1));
    }
    let number = |column: usize, most: u8| match record[column].trim().parse::<u8>() {
        Ok(number) if number <= most => Ok(number),
        _ => {
            let (field, text) = (column + 1, &record[column]);
            Err(format!("field {field} is {text:?}, where a number from 0 to {most} is expected"))
        }
    };
    let mut image = [0.0; PIXELS];
    for (column, pixel) in image.iter_mut().enumerate() {
        *pixel = f32::from(number(column, WHITE)?) / f32::from(WHITE);
    }
    Ok((image, i64::from(number(PIXELS, 9)?)))
}

fn unreadable(path: &Path, line: u64, error: csv::Error) -> Error {
    let path = path.to_owned();
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::Unreadable { path, source },
        kind => Error::Malformed { path, line, what: format!("{kind:?}") },
    }
}
