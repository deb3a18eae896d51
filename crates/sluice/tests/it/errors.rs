//! The one error: its kinds, and what `main` prints of it.

use sluice::data::{BuildError, DataLoader, TensorDataset};
use sluice::prelude::*;
use sluice::{Error, Result, safetensors};

#[test]
fn errors_of_all_floors_convert_and_keep_their_kind() -> Result<()> {
    cuda::software(2)?;
    let shapes = || Tensor::ones([2, 3], ())?.matmul(&tensor![1.0]?);
    assert!(matches!(shapes(), Err(Error::ShapeMismatch { op: "matmul", .. })));
    assert!(matches!(Tensor::ones([2], Device::cuda_at(7)), Err(Error::Runtime(_))));
    let memory = || Tensor::empty([1 << 50], Device::cuda());
    assert!(matches!(memory(), Err(Error::Allocation(_))));
    assert!(memory().is_err_and(|error| error.is_out_of_memory()));
    let options = || -> Result<()> {
        let data = TensorDataset::new(Tensor::ones([4], ())?)?;
        DataLoader::builder(data).batch_size(0).build()?;
        Ok(())
    };
    assert!(matches!(options(), Err(Error::Other(error)) if error.is::<BuildError>()));
    let file = || -> Result<String> { Ok(std::fs::read_to_string("no such file")?) };
    assert!(matches!(file(), Err(Error::Io(_))));
    Ok(())
}

#[test]
fn out_of_memory_is_known_also_where_a_file_is_loaded() -> Result<()> {
    cuda::software(2)?;
    let device = Device::cuda_at(1);
    let total = cuda::mem_get_info(device)?.total as f64;
    cuda::set_per_process_memory_fraction((1 << 20) as f64 / total, device)?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("large.safetensors");
    let state = [("x".to_owned(), Tensor::zeros([1 << 20], ())?)].into();
    safetensors::save(&path, &state)?;
    let load = || -> Result<_> { Ok(safetensors::load(&path, device)?) };
    let error = load().expect_err("4 MiB, where there is one");
    assert!(error.is_out_of_memory(), "{error}");
    assert!(error.to_string().contains("large.safetensors: tensor `x`: "), "{error}");
    let missing = || -> Result<_> { Ok(safetensors::load("no such file", device)?) };
    assert!(missing().is_err_and(|error| !error.is_out_of_memory()));
    Ok(())
}

#[test]
fn main_prints_the_text_that_is_meant_to_be_read() -> Result<()> {
    let (a, b) = (tensor![1.0, 2.0]?, tensor![1.0, 2.0, 3.0]?);
    let error = (&a + &b).expect_err("two sizes");
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().starts_with("add: `self` has shape [2], `other` [3]"), "{error}");
    Ok(())
}
