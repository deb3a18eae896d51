//! Layers of convolutions: their initial values, and what they say of inputs that do not fit.

use nn::{Conv1d, Conv2d, ConvTranspose2d, Forward, Result};
use tensor::{ConvOptions, ConvTransposeOptions, DType, Tensor, enter_manual_seed};

#[test]
fn initial_values_are_as_large_as_pytorchs() -> Result<()> {
    let within = |parameter: &Tensor, bound: f32| -> Result<bool> {
        let largest = parameter.abs()?.max()?.item::<f32>()?;
        Ok(largest <= bound && largest > 0.9 * bound)
    };
    // Of 32 numbers none may be nearly as large as they can be.
    let _seed = enter_manual_seed(0);
    let layer = Conv2d::new(16, 32, 3, ConvOptions::new().groups(4))?;
    assert_eq!(
        (layer.weight().shape(), layer.weight().requires_grad()),
        (&[32, 4, 3, 3][..], true)
    );
    assert!(within(layer.weight(), 1.0 / 6.0)?, "a channel has 4 * 9 inputs");
    assert!(within(layer.bias().expect("it has one"), 1.0 / 6.0)?);
    let layer = ConvTranspose2d::new(8, 64, 2, ConvTransposeOptions::new().groups(4))?;
    assert_eq!(layer.weight().shape(), [8, 16, 2, 2]);
    assert!(within(layer.weight(), 0.125)?, "PyTorch counts the second dimension and the kernel");
    assert_eq!(layer.bias().expect("it has one").shape(), [64]);
    Ok(())
}

#[test]
fn channels_that_groups_do_not_divide_are_refused() {
    for (inputs, outputs, groups) in [(3, 4, 2), (4, 3, 2), (4, 4, 0)] {
        let options = ConvOptions::new().groups(groups);
        let error = Conv2d::new(inputs, outputs, 3, options).expect_err("they do not fit");
        assert!(error.to_string().contains("groups"), "{error}");
    }
    let (weight, bias) = (Tensor::ones([4, 2, 3], ()), Tensor::ones([3], ()));
    let (weight, bias) = (weight.expect("it is made"), bias.expect("it is made"));
    assert!(Conv1d::from_parameters(weight.clone(), Some(bias), ()).is_err());
    assert!(Conv2d::from_parameters(weight.clone(), None, ()).is_err());
    let shared = Conv1d::from_parameters(weight.clone(), None, ()).expect("it fits");
    assert_eq!(shared.weight().id(), weight.id());
}

#[test]
fn an_input_that_does_not_fit_is_named_with_the_layer() -> Result<()> {
    let layer = Conv2d::new(3, 8, 3, ())?;
    let refused = |shape: &[usize], dtype: DType| -> Result<String> {
        let error = layer.forward(&Tensor::ones(shape, dtype)?).expect_err("it does not fit");
        Ok(error.to_string())
    };
    let channels = refused(&[1, 4, 9, 9], DType::F32)?;
    assert!(channels.contains("Conv2d(3, 8, ") && channels.contains("3 channels"), "{channels}");
    let double = refused(&[1, 3, 9, 9], DType::F64)?;
    assert!(double.contains("its parameters are float32, the input float64"), "{double}");
    let small = refused(&[1, 3, 2, 9], DType::F32)?;
    assert!(small.contains("padded input"), "{small}");
    Ok(())
}
