//! Data sets in files: a table in CSV, images in IDX as MNIST has them, and a folder of images. Each
//! is read, and a layer learns to tell its classes apart.
//!
//! ```sh
//! cargo run --release --example data_files -- table.csv images.idx labels.idx photos
//! ```
#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use sluice::data::{TensorDataset, from_fn};
use sluice::prelude::*;
use sluice::{Error, Result};

/// A data set of samples in one tensor and their classes in another.
type TensorPairs = TensorDataset<(Tensor, Tensor)>;

/// The rows of a table with a line of names: numbers, the last of which is the class.
fn csv_table(path: &Path) -> Result<TensorPairs> {
    let mut reader = csv::Reader::from_path(path).map_err(Error::other)?;
    let rows: Result<Vec<Vec<f32>>, _> = reader.deserialize().collect();
    let table = Tensor::new(&rows.map_err(Error::other)?, ())?;
    TensorDataset::new((table.i((.., ..-1))?, table.i((.., -1))?.to(DType::I64)?))
}

/// The bytes of a file in the format of MNIST: two zeros, the dtype, the number of dimensions, their
/// sizes, the elements.
fn idx(path: &Path) -> Result<Tensor> {
    let damaged = || Error::other(format!("{}: no IDX file of bytes", path.display()));
    let bytes = fs::read(path)?;
    let [0, 0, 8, dims, rest @ ..] = &bytes[..] else { return Err(damaged()) };
    let (sizes, elements) = rest.split_at_checked(4 * usize::from(*dims)).ok_or_else(damaged)?;
    let sizes = sizes.as_chunks().0.iter().map(|&size| u32::from_be_bytes(size) as usize);
    Tensor::from_vec(elements.to_vec(), sizes.collect::<Vec<_>>(), ())
}

fn idx_images(images: &Path, labels: &Path) -> Result<TensorPairs> {
    let pixels = (idx(images)?.to(DType::F32)? / 255.0)?;
    TensorDataset::new((pixels, idx(labels)?.to(DType::I64)?))
}

/// The images in a folder that has a folder for each class, as `torchvision.datasets.ImageFolder`.
/// Each is read when it is asked for, by a worker of the loader.
fn image_folder(
    folder: &Path,
) -> Result<impl Dataset<Sample = (Tensor, Tensor), Error = Error> + use<>> {
    let mut files = Vec::new();
    for (class, folder) in (0i64..).zip(sorted(folder)?) {
        files.extend(sorted(&folder)?.into_iter().map(|file| (file, class)));
    }
    Ok(from_fn(files.len(), move |index| {
        let (file, class) = &files[index];
        let image = image::open(file).map_err(Error::other)?.to_rgb8();
        let size = [image.height() as usize, image.width() as usize, 3];
        let pixels = Tensor::from_vec(image.into_raw(), size, ())?.permute((2, 0, 1))?;
        Ok(((pixels.to(DType::F32)? / 255.0)?, Tensor::scalar(*class, DType::I64)?))
    }))
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// Trains a layer, and says on how many samples it is right.
fn learn<D>(name: &str, data: D) -> Result<()>
where
    D: Dataset<Sample = (Tensor, Tensor), Error = Error> + 'static,
{
    let (first, _) = data.get(0)?;
    let (count, shape) = (data.len(), first.shape().to_vec());
    let loader = DataLoader::builder(data).batch_size(8).shuffle(0).workers(2).build()?;
    let model = sequential![nn::Flatten, nn::Linear::new(first.numel(), 2)?];
    let mut optimizer = optim::Adam::new(model.parameters(), 0.05).build()?;
    let mut right = 0;
    for _ in 0..20 {
        right = 0;
        for batch in &loader {
            let (x, class) = batch?;
            let scores = model.forward(&x)?;
            right += scores.argmax(-1)?.eq(&class)?.sum(())?.item::<i64>()?;
            optimizer.zero_grad();
            scores.cross_entropy(&class)?.backward()?;
            optimizer.step()?;
        }
    }
    println!("{name}: {count} samples of {shape:?}, right on {right}");
    Ok(())
}

fn main() -> Result<()> {
    sluice::manual_seed(0);
    let paths: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let [table, images, labels, folder] = &paths[..] else {
        return Err(Error::other("usage: data_files TABLE.csv IMAGES.idx LABELS.idx FOLDER"));
    };
    learn("csv", csv_table(table)?)?;
    learn("idx", idx_images(images, labels)?)?;
    learn("folder", image_folder(folder)?)
}
