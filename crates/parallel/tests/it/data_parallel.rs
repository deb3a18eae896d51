//! What goes wrong in replicas, and what replicas inherit. Equality with one device is clause S27.

use nn::{Linear, Module, Result};
use parallel::{DataParallel, DataParallelError};
use tensor::{Device, Tensor, no_grad};

use crate::four_devices;

fn devices() -> Vec<Device> {
    four_devices();
    (0..4).map(Device::cuda_at).collect()
}

/// Does something odd where its input lies on cuda:2.
#[derive(Clone)]
struct Odd {
    linear: Linear,
    oddity: fn() -> Result<()>,
}

impl Odd {
    fn new(oddity: fn() -> Result<()>) -> Result<Odd> {
        let mut linear = Linear::new(3, 2)?;
        linear.to(Device::cuda_at(0))?;
        Ok(Odd { linear, oddity })
    }
}

impl Module for Odd {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        if input.get_device() == 2 {
            (self.oddity)()?;
        }
        self.linear.forward(input)
    }

    fn visit(&self, visitor: &mut dyn FnMut(&str, &Tensor)) {
        self.linear.visit(visitor);
    }

    fn visit_mut(
        &mut self,
        visitor: &mut dyn FnMut(&str, &mut Tensor) -> Result<()>,
    ) -> Result<()> {
        self.linear.visit_mut(visitor)
    }
}

#[test]
fn a_replica_that_panics_is_an_error_that_names_its_device() -> Result<()> {
    let devices = devices();
    let model = DataParallel::new(Odd::new(|| panic!("on purpose"))?, devices)?;
    let error = model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?).expect_err("a panic");
    let text = error.to_string();
    assert!(text.contains("cuda:2") && text.contains("on purpose"), "{text}");
    Ok(())
}

#[test]
fn a_replicas_error_is_the_error_of_the_whole() -> Result<()> {
    let fails = || Tensor::ones([2], ())?.view([3]).map(drop);
    let devices = devices();
    let model = DataParallel::new(Odd::new(fails)?, devices)?;
    let error = model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?).expect_err("no view");
    assert!(error.to_string().contains("view"), "{error}");
    Ok(())
}

#[test]
fn replicas_inherit_no_grad_and_the_current_device_is_theirs() -> Result<()> {
    let right = || {
        assert!(!tensor::is_grad_enabled());
        assert_eq!(tensor::cuda::current_device()?, 2);
        Ok(())
    };
    let devices = devices();
    let model = DataParallel::new(Odd::new(right)?, devices)?;
    let output = no_grad(|| model.forward(&Tensor::ones([8, 3], Device::cuda_at(0))?))?;
    assert!(!output.requires_grad());
    Ok(())
}

#[test]
fn a_device_given_twice_or_missing_is_refused() -> Result<()> {
    let devices = devices();
    let mut model = Linear::new(3, 2)?;
    model.to(devices[0])?;
    let twice = DataParallel::new(model.clone(), [devices[0], devices[1], devices[0]]);
    assert!(matches!(twice, Err(DataParallelError::DuplicateDevice { .. })));
    assert!(DataParallel::new(model, [devices[0], Device::cuda_at(11)]).is_err());
    Ok(())
}
