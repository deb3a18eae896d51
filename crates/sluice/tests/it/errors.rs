//! The one error: its kinds, and what `main` prints of it.

use sluice::data::{DataLoader, TensorDataset};
use sluice::prelude::*;
use sluice::{Error, Result};

#[test]
fn errors_of_all_floors_convert_and_keep_their_kind() -> Result<()> {
    cuda::software(2)?;
    let tensor = || -> Result<Tensor> { Ok(Tensor::ones([2, 3], ())?.matmul(&tensor![1.0]?)?) };
    assert!(matches!(tensor(), Err(Error::Tensor(_))));
    let runtime = || -> Result<Tensor> { Ok(Tensor::ones([2], Device::cuda_at(7))?) };
    assert!(matches!(runtime(), Err(Error::Runtime(_))), "through a tensor");
    let memory = || -> Result<Tensor> { Ok(Tensor::empty([1 << 50], Device::cuda())?) };
    assert!(matches!(memory(), Err(Error::Memory(_))), "through a tensor");
    assert!(memory().is_err_and(|error| error.is_out_of_memory()));
    let options = || -> Result<()> {
        let data = TensorDataset::new(Tensor::ones([4], ())?)?;
        DataLoader::builder(data).batch_size(0).build()?;
        Ok(())
    };
    assert!(matches!(options(), Err(Error::LoaderOptions(_))));
    let file = || -> Result<String> { Ok(std::fs::read_to_string("no such file")?) };
    assert!(matches!(file(), Err(Error::Io(_))));
    Ok(())
}

#[test]
fn main_prints_the_text_that_is_meant_to_be_read() -> Result<()> {
    let (a, b) = (tensor![1.0, 2.0]?, tensor![1.0, 2.0, 3.0]?);
    let error = Error::from((&a + &b).expect_err("two sizes"));
    assert_eq!(format!("{error:?}"), error.to_string());
    assert!(error.to_string().starts_with("add: `self` has shape [2], `other` [3]"), "{error}");
    let floor = (&a + &b).expect_err("two sizes");
    assert_eq!(format!("{floor:?}"), floor.to_string(), "of a floor, too");
    Ok(())
}
