//! The seeds' advice on pinned memory: `pin_memory()`, `non_blocking` (once `async`), the loader.

use parallel::{DataLoader, TensorDataset};
use semantics::choose_driver;
use tensor::{Blocking, Device, Result, Tensor};

#[test]
fn a_pinned_tensor_is_copied_without_blocking() -> Result<()> {
    choose_driver();
    let x = Tensor::ones([1000], ())?.pin_memory()?; // x = x.pin_memory()
    let y = x.to_with(Device::cuda(), Blocking::No)?; // y = x.cuda(non_blocking=True)
    assert_eq!(y.to_vec::<f32>()?, [1.0; 1000]);
    Ok(())
}

#[test]
fn the_loader_returns_batches_in_pinned_memory() -> Result<()> {
    choose_driver();
    let data = TensorDataset::new(Tensor::ones([5, 2], ())?)?;
    let loader =
        DataLoader::builder(data).batch_size(2).pin_memory(true).build().expect("a loader");
    for batch in &loader {
        assert!(batch.expect("a batch").is_pinned());
    }
    Ok(())
}
