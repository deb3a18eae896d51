//! State dicts: strict and lenient loading, other names, buffers.

use nn::{Linear, LoadOptions, Module, ReLU, Result, Sequential, StateError, sequential};
use tensor::{DType, Tensor};

use crate::devices;

#[derive(Module)]
struct Counted {
    linear: Linear,
    #[module(buffer)]
    mean: Tensor,
    #[module(buffer)]
    missing: Option<Tensor>,
}

fn counted() -> Result<Counted> {
    Ok(Counted { linear: Linear::new(3, 2)?, mean: Tensor::rand([2], ())?, missing: None })
}

fn network() -> Result<Sequential> {
    Ok(sequential![Linear::new(6, 8)?, ReLU, Linear::new(8, 4)?])
}

#[test]
fn a_state_dict_carries_a_module_over_with_its_buffers() -> Result<()> {
    for device in devices::all() {
        let (source, mut target) = (counted()?, counted()?);
        target.to((device, DType::F64))?;
        target.load_state_dict(&source.state_dict()).expect("it fits");
        let pairs = source.state_dict().into_iter().zip(target.state_dict());
        for ((name, left), (_, right)) in pairs {
            assert_eq!((right.device(), right.dtype()), (device, DType::F64));
            assert_eq!(left.to_vec::<f32>()?, right.to(DType::F32)?.to_vec::<f32>()?, "{name}");
        }
        assert!(target.linear.weight().requires_grad() && !target.mean.requires_grad());
    }
    Ok(())
}

#[test]
fn a_state_that_does_not_fit_names_everything_and_changes_nothing() -> Result<()> {
    let mut module = network()?;
    let before = module.parameters()[1].to_vec::<f32>()?;
    let mut state = network()?.state_dict();
    state.remove("2.bias");
    state.insert("0.weight".to_owned(), Tensor::zeros([8, 5], ())?);
    state.insert("3.weight".to_owned(), Tensor::zeros([1], ())?);
    let error = module.load_state_dict(&state).expect_err("it does not fit");
    let StateError::Mismatch(mismatches) = &error else { panic!("{error}") };
    assert_eq!(mismatches.len(), 3, "{error}");
    for name in ["2.bias", "0.weight", "3.weight"] {
        assert!(error.to_string().contains(name), "{error}");
    }
    let error = module.load_state_dict_with(&state, &LoadOptions::new().lenient()).unwrap_err();
    let StateError::Mismatch(mismatches) = &error else { panic!("{error}") };
    assert_eq!(mismatches.len(), 1, "shapes must fit all the same: {error}");
    assert_eq!(module.parameters()[1].to_vec::<f32>()?, before);
    Ok(())
}

#[test]
fn lenient_loading_reports_what_was_missing_and_unexpected() -> Result<()> {
    let (mut module, source) = (network()?, network()?);
    let mut state = source.state_dict();
    let bias = module.parameters()[3].to_vec::<f32>()?;
    state.remove("2.bias");
    state.insert("3.weight".to_owned(), Tensor::zeros([1], ())?);
    let report = module.load_state_dict_with(&state, &LoadOptions::new().lenient())?;
    assert_eq!(
        (&report.missing[..], &report.unexpected[..]),
        (&["2.bias".to_owned()][..], &["3.weight".to_owned()][..])
    );
    assert!(report.to_string().contains("2.bias") && report.to_string().contains("3.weight"));
    let values = |module: &Sequential| module.parameters()[0].to_vec::<f32>();
    assert_eq!(values(&module)?, values(&source)?);
    assert_eq!(module.parameters()[3].to_vec::<f32>()?, bias);
    let report = module.load_state_dict_with(&source.state_dict(), &LoadOptions::new())?;
    assert_eq!(report.to_string(), "<All keys matched successfully>");
    Ok(())
}

#[test]
fn names_of_another_program_are_renamed_or_dropped() -> Result<()> {
    let (mut module, source) = (network()?, network()?);
    let foreign = |name: &str| format!("module.{name}");
    let state = source.state_dict().into_iter().map(|(name, value)| (foreign(&name), value));
    let mut state: nn::StateDict = state.collect();
    state.insert("optimizer.step".to_owned(), Tensor::ones([1], ())?);
    let options =
        LoadOptions::new().rename(|name| name.strip_prefix("module.").map(ToOwned::to_owned));
    assert!(module.load_state_dict_with(&state, &options)?.is_complete());
    assert_eq!(module.parameters()[0].to_vec::<f32>()?, source.parameters()[0].to_vec::<f32>()?);

    let options = LoadOptions::new().rename(|_| Some("0.weight".to_owned())).lenient();
    let error = module.load_state_dict_with(&state, &options).expect_err("one name for several");
    assert!(error.to_string().contains("both renamed to 0.weight"), "{error}");
    Ok(())
}
