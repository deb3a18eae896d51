//! Several GPUs: S27.

use nn::{Linear, Module, ReLU, Sequential};
use parallel::DataParallel;
use semantics::four_devices;
use tensor::{Device, Result, Tensor};

fn model(device: Device) -> Result<Sequential> {
    let _seed = tensor::enter_manual_seed(3);
    let mut model =
        Sequential::new().push(Linear::new(6, 16)?).push(ReLU).push(Linear::new(16, 3)?);
    model.to(device)?;
    Ok(model)
}

fn gradients(model: &impl Module, x: &Tensor) -> Result<(Vec<f32>, Vec<Vec<f32>>)> {
    let y = model.forward(x)?;
    (&y * &y)?.sum()?.backward()?;
    let parameters = model.parameters();
    let gradients = parameters.iter().map(|p| p.grad().expect("a leaf").to_vec());
    Ok((y.to_vec()?, gradients.collect::<Result<_>>()?))
}

fn assert_close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    for (l, r) in left.iter().zip(right) {
        assert!((l - r).abs() <= 1e-4 * (1.0 + r.abs()), "{l} and {r}");
    }
}

#[test]
fn s27_outputs_and_gradients_equal_one_devices() -> Result<()> {
    four_devices();
    let devices: Vec<_> = (0..4).map(Device::cuda_at).collect();
    for batch in [1, 3, 4, 10] {
        let _seed = tensor::enter_manual_seed(11);
        let x = Tensor::randn([batch, 6], devices[0])?;
        let (alone, alone_gradients) = gradients(&model(devices[0])?, &x)?;
        let parallel = DataParallel::new(model(devices[0])?, devices.clone())?;
        let (together, together_gradients) = gradients(&parallel, &x)?;
        assert_close(&together, &alone);
        for (left, right) in together_gradients.iter().zip(&alone_gradients) {
            assert_close(left, right);
        }
        for parameter in parallel.parameters() {
            assert_eq!(parameter.grad().expect("a leaf").device(), devices[0]);
        }
    }
    Ok(())
}

#[test]
fn s27_with_one_device_or_none_it_is_transparent() -> Result<()> {
    four_devices();
    for devices in [vec![], vec![Device::cuda_at(0)]] {
        let place = devices.first().copied().unwrap_or(Device::Cpu);
        let x = Tensor::ones([5, 6], place)?;
        let parallel = DataParallel::new(model(place)?, devices)?;
        let y = parallel.forward(&x)?;
        assert_eq!(y.device(), place);
        assert_close(&y.to_vec()?, &model(place)?.forward(&x)?.to_vec()?);
    }
    Ok(())
}

#[test]
fn s27_parameters_elsewhere_are_an_error_that_names_one() -> Result<()> {
    four_devices();
    let error =
        DataParallel::new(model(Device::cuda_at(1))?, [Device::cuda_at(0), Device::cuda_at(1)])
            .err()
            .expect("the parameters are not on the first device")
            .to_string();
    assert!(error.contains("cuda:1") && error.contains("cuda:0"), "{error}");
    Ok(())
}
