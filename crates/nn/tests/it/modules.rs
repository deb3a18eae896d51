//! What a module promises: names, places, states.

use nn::{Dropout, Flatten, Forward, Linear, Module, ReLU, Sequential, sequential};
use tensor::{DType, Result, Tensor};

use crate::devices;

fn network() -> Result<Sequential> {
    Ok(sequential![Linear::new(6, 8)?, ReLU, Linear::new(8, 4)?])
}

#[test]
fn parameters_have_pytorchs_names_and_shapes() -> Result<()> {
    let named = network()?.named_parameters();
    let described: Vec<_> = named.iter().map(|(name, p)| (name.as_str(), p.shape())).collect();
    let expected: [(&str, &[usize]); 4] =
        [("0.weight", &[8, 6]), ("0.bias", &[8]), ("2.weight", &[4, 8]), ("2.bias", &[4])];
    assert_eq!(described, expected);
    assert!(named.iter().all(|(_, p)| p.requires_grad() && p.is_leaf()));
    Ok(())
}

#[test]
fn initial_weights_lie_within_the_bound_and_depend_on_the_seed() -> Result<()> {
    let weights = |seed| -> Result<Vec<f32>> {
        tensor::with_manual_seed(seed, || Linear::new(25, 40)?.weight().to_vec())
    };
    let first = weights(1)?;
    assert!(first.iter().all(|w| w.abs() <= 0.2));
    assert!(first.iter().any(|w| *w > 0.15) && first.iter().any(|w| *w < -0.15));
    assert_eq!(first, weights(1)?);
    assert_ne!(first, weights(2)?);
    Ok(())
}

#[test]
fn a_module_moves_with_its_parameters_which_stay_leaves() -> Result<()> {
    for device in devices::all() {
        let mut module = network()?;
        let before = module.forward(&Tensor::ones([2, 6], ())?)?.to_vec::<f32>()?;
        module.to(device)?;
        for parameter in module.parameters() {
            assert_eq!(parameter.device(), device);
            assert!(parameter.is_leaf() && parameter.requires_grad());
        }
        let after = module.forward(&Tensor::ones([2, 6], device)?)?;
        for (left, right) in before.iter().zip(after.to_vec::<f32>()?) {
            assert!((left - right).abs() < 1e-5, "{left} and {right} on {device}");
        }
    }
    Ok(())
}

#[test]
fn flatten_keeps_the_batch() -> Result<()> {
    assert_eq!(Flatten.forward(&Tensor::ones([2, 3, 4], ())?)?.shape(), [2, 12]);
    let error = Flatten.forward(&Tensor::scalar(1.0, DType::F32)?).expect_err("no batch");
    assert!(error.to_string().starts_with("Flatten("), "{error}");
    Ok(())
}

#[test]
fn dropout_drops_in_training_only_and_keeps_the_mean() -> Result<()> {
    for device in devices::all() {
        let _seed = tensor::enter_manual_seed(4);
        let mut dropout = Dropout::new(0.25)?;
        let x = Tensor::ones([10_000], device)?;
        let values = dropout.forward(&x)?.to_vec::<f32>()?;
        assert!(values.iter().all(|&v| v == 0.0 || (v - 4.0 / 3.0).abs() < 1e-6));
        let mean = values.iter().sum::<f32>() / 10_000.0;
        assert!((mean - 1.0).abs() < 0.03, "{mean} on {device}");
        dropout.eval();
        assert_eq!(dropout.forward(&x)?.to_vec::<f32>()?, x.to_vec::<f32>()?);
    }
    Ok(())
}

#[test]
fn dropout_takes_a_probability_and_nothing_else() -> Result<()> {
    for p in [2.0, 1.0 + f64::EPSILON, -0.1, f64::NAN, f64::INFINITY] {
        let error = Dropout::new(p).expect_err("it is no probability").to_string();
        assert!(error.contains("Dropout") && error.contains(&p.to_string()), "{error}");
    }
    let x = Tensor::ones([8], ())?;
    assert_eq!(Dropout::new(1.0)?.forward(&x)?.to_vec::<f32>()?, [0.0; 8]);
    assert_eq!(Dropout::new(0.0)?.forward(&x)?.to_vec::<f32>()?, [1.0; 8]);
    Ok(())
}
