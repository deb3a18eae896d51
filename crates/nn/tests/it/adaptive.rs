//! The softmax of many classes against PyTorch: names, results and gradients.

use nn::{AdaptiveLogSoftmaxWithLoss, Forward, Module, Result};
use serde_json::Value;
use tensor::{Device, Tensor, tensor};

use crate::devices;

const EXPECTED: &str = include_str!("../expected/adaptive.json");

fn numbers(value: &Value, device: Device) -> Result<Tensor> {
    let list = |name: &str| value[name].as_array().expect("a list").iter();
    let shape: Vec<usize> =
        list("shape").map(|size| size.as_u64().expect("a size") as usize).collect();
    let data = list("data").map(|number| number.as_f64().expect("a number") as f32).collect();
    Tensor::from_vec(data, shape, device)
}

#[track_caller]
fn assert_close(own: &Tensor, expected: &Value) -> Result<()> {
    let expected = numbers(expected, Device::Cpu)?;
    assert_eq!(own.shape(), expected.shape());
    assert!(own.cpu()?.allclose(&expected, 1e-4, 1e-5)?, "{own}, not {expected}");
    Ok(())
}

#[test]
fn the_clusters_are_pytorchs_on_every_device() -> Result<()> {
    let case: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    let integers = |name: &str| -> Vec<i64> {
        let list = case[name].as_array().expect("a list").iter();
        list.map(|number| number.as_i64().expect("an integer")).collect()
    };
    for device in devices::all() {
        let mut layer = AdaptiveLogSoftmaxWithLoss::new_with(8, 12, &[3, 7], 2.0, true, ())?;
        let weights = case["weights"].as_object().expect("tensors by name").iter();
        let weights = weights.map(|(name, value)| Ok((name.clone(), numbers(value, device)?)));
        layer.load_state_dict(&weights.collect::<Result<_>>()?).expect("the names are PyTorch's");
        layer.to(device)?;
        let x = numbers(&case["input"], device)?.requires_grad_(true)?;
        let target = Tensor::new(integers("target"), device)?;
        let (output, loss) = layer.forward(&(x.clone(), target))?;
        assert_close(&output, &case["output"])?;
        assert!((loss.item::<f64>()? - case["loss"].as_f64().expect("a number")).abs() < 1e-5);
        loss.add(&output.square()?.sum(())?)?.backward()?;
        assert_close(&x.grad().expect("a gradient"), &case["input_gradient"])?;
        for (name, parameter) in layer.named_parameters() {
            assert_close(&parameter.grad().expect("a gradient"), &case["gradients"][&name])?;
        }
        assert_close(&layer.log_prob(&x)?, &case["log_prob"])?;
        assert_eq!(layer.predict(&x)?.to_vec::<i64>()?, integers("predictions"));
    }
    Ok(())
}

#[test]
fn one_sample_may_come_without_a_batch() -> Result<()> {
    let layer = AdaptiveLogSoftmaxWithLoss::new(16, 12, &[3])?;
    let x = Tensor::randn([16], ())?;
    let (output, _) = layer.forward(&(x.clone(), Tensor::new(5i64, ())?))?;
    let expected = layer.log_prob(&x.unsqueeze(0)?)?.i((0, 5))?;
    assert_eq!(output.dims(), 0);
    assert!((output.item::<f32>()? - expected.item::<f32>()?).abs() < 1e-5);
    Ok(())
}

#[test]
fn cutoffs_and_classes_that_make_no_sense_are_errors() -> Result<()> {
    for cutoffs in [&[][..], &[0, 3], &[5, 3], &[3, 3], &[12]] {
        assert!(AdaptiveLogSoftmaxWithLoss::new(64, 12, cutoffs).is_err(), "{cutoffs:?}");
    }
    let error = AdaptiveLogSoftmaxWithLoss::new(8, 12, &[3, 5]).unwrap_err().to_string();
    assert!(error.contains("div_value"), "{error}");
    let layer = AdaptiveLogSoftmaxWithLoss::new(16, 12, &[3, 7])?;
    let x = Tensor::zeros([2, 16], ())?;
    for target in [tensor![3, 12]?, tensor![-1, 3]?, tensor![3]?] {
        let target = target.to(tensor::DType::I64)?;
        assert!(layer.forward(&(x.clone(), target)).is_err());
    }
    Ok(())
}
