//! Every optimizer and the clipping of gradients against PyTorch.

use nn::amp::{GradScaler, GradScalerOptions};
use nn::optim::{
    ASGD, Adadelta, Adafactor, Adagrad, Adam, AdamW, Adamax, LBFGS, LineSearch, Muon, NAdam,
    Optimizer, RAdam, RMSprop, Rprop, SGD,
};
use nn::utils::{ClipOptions, clip_grad_norm_};
use nn::{AveragedModel, Averaging, Linear, Module, Result, Stateful};
use serde_json::Value;
use tensor::{DType, Device, Tensor, no_grad};

use crate::devices;

const EXPECTED: &str = include_str!("../expected/optimizers.json");

pub(crate) fn expected() -> Value {
    serde_json::from_str(EXPECTED).expect("the expected values are JSON")
}

pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list of numbers");
    list.iter().map(|number| number.as_f64().expect("a number")).collect()
}

pub(crate) fn assert_close(what: &str, own: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(own.len(), expected.len(), "{what}");
    for (own, expected) in own.iter().zip(expected) {
        let near = tolerance * (1.0 + expected.abs());
        assert!((own - expected).abs() <= near, "{what}: {own}, not {expected}");
    }
}

pub(crate) fn on_host(tensor: &Tensor) -> Result<Vec<f64>> {
    tensor.to((DType::F64, Device::Cpu))?.to_vec()
}

/// The parameters that the script begins with.
pub(crate) fn start(device: Device) -> Result<Vec<Tensor>> {
    let first = Tensor::new([[1.0f32, -2.0, 3.0], [0.5, 0.0, -0.25]], device)?;
    let second = Tensor::new([4.0f32, -1.0], device)?;
    Ok(vec![first.requires_grad_(true)?, second.requires_grad_(true)?])
}

/// The script's gradients: their signs change, and one step is without any slope.
pub(crate) fn set_gradients(parameters: &[Tensor], step: usize) -> Result<()> {
    let size = if step == 3 { 0.0 } else { 1.0 };
    for parameter in parameters {
        let number = |n: usize| size * (1.0 + 2.0 * step as f64 + 0.7 * n as f64).sin();
        let numbers: Vec<f32> = (0..parameter.numel()).map(|n| number(n) as f32).collect();
        parameter.set_grad(Some(Tensor::from_vec(
            numbers,
            parameter.shape(),
            parameter.device(),
        )?))?;
    }
    Ok(())
}

type Build = fn(&[Tensor]) -> Result<Box<dyn Optimizer>>;

/// The optimizers by the names that the script has for them.
const OPTIMIZERS: [(&str, Build); 19] = [
    ("sgd", |p| {
        let sgd = SGD::new(p, 0.1).momentum(0.9).dampening(0.5).weight_decay(0.1);
        Ok(Box::new(sgd.build()?))
    }),
    ("sgd_maximize", |p| Ok(Box::new(SGD::new(p, 0.1).maximize().build()?))),
    ("adam_amsgrad", |p| Ok(Box::new(Adam::new(p, 0.1).weight_decay(0.1).amsgrad().build()?))),
    ("adamw", |p| Ok(Box::new(AdamW::new(p, 0.1).weight_decay(0.2).build()?))),
    ("adamw_amsgrad", |p| Ok(Box::new(AdamW::new(p, 0.1).amsgrad().maximize().build()?))),
    ("rmsprop", |p| Ok(Box::new(RMSprop::new(p, 0.1).weight_decay(0.1).build()?))),
    ("rmsprop_momentum", |p| Ok(Box::new(RMSprop::new(p, 0.01).momentum(0.9).build()?))),
    ("rmsprop_centered", |p| Ok(Box::new(RMSprop::new(p, 0.01).alpha(0.5).centered().build()?))),
    ("rmsprop_both", |p| {
        Ok(Box::new(RMSprop::new(p, 0.01).alpha(0.5).centered().momentum(0.9).build()?))
    }),
    ("adagrad", |p| {
        let adagrad = Adagrad::new(p, 0.1).lr_decay(0.1).initial_accumulator_value(0.5);
        Ok(Box::new(adagrad.build()?))
    }),
    ("adadelta", |p| Ok(Box::new(Adadelta::new(p, 10.0).weight_decay(0.1).build()?))),
    ("adamax", |p| Ok(Box::new(Adamax::new(p, 0.1).weight_decay(0.1).build()?))),
    ("nadam", |p| Ok(Box::new(NAdam::new(p, 0.1).weight_decay(0.1).build()?))),
    ("nadam_decoupled", |p| {
        Ok(Box::new(NAdam::new(p, 0.1).weight_decay(0.1).decoupled_weight_decay().build()?))
    }),
    ("radam", |p| Ok(Box::new(RAdam::new(p, 0.1).betas(0.8, 0.9).weight_decay(0.1).build()?))),
    ("radam_decoupled", |p| {
        Ok(Box::new(RAdam::new(p, 0.1).weight_decay(0.1).decoupled_weight_decay().build()?))
    }),
    ("asgd", |p| Ok(Box::new(ASGD::new(p, 0.1).lambd(0.1).t0(3.0).weight_decay(0.1).build()?))),
    ("rprop", |p| Ok(Box::new(Rprop::new(p, 0.1).build()?))),
    ("adafactor", |p| Ok(Box::new(Adafactor::new(p, 0.1).weight_decay(0.1).build()?))),
];

#[test]
fn eight_steps_of_every_optimizer_are_pytorchs_on_every_device() -> Result<()> {
    let expected = expected();
    for (name, build) in OPTIMIZERS {
        for device in devices::all() {
            let parameters = start(device)?;
            let mut optimizer = build(&parameters)?;
            for step in 0..8 {
                set_gradients(&parameters, step)?;
                optimizer.step()?;
            }
            let expected = expected["optimizers"][name].as_array().expect("two parameters");
            for (parameter, expected) in parameters.iter().zip(expected) {
                let what = format!("{name} on {device}");
                assert_close(&what, &on_host(parameter)?, &numbers(expected), 1e-5);
            }
        }
    }
    Ok(())
}

#[test]
fn every_optimizer_goes_on_from_its_state_bit_for_bit() -> Result<()> {
    for (name, build) in OPTIMIZERS {
        for device in devices::all() {
            let parameters = start(device)?;
            let mut optimizer = build(&parameters)?;
            for step in 0..4 {
                set_gradients(&parameters, step)?;
                optimizer.step()?;
            }
            let resumed =
                parameters.iter().map(|one| one.detach().clone_data()?.requires_grad_(true));
            let resumed: Vec<Tensor> = resumed.collect::<Result<_>>()?;
            let mut other = build(&resumed)?;
            other.set_learning_rate(7.0);
            other.load_state_dict(&optimizer.state_dict()?).expect("it fits");
            assert_eq!(other.learning_rates(), optimizer.learning_rates());
            for step in 4..8 {
                for (parameters, optimizer) in
                    [(&parameters, &mut optimizer), (&resumed, &mut other)]
                {
                    set_gradients(parameters, step)?;
                    optimizer.step()?;
                }
            }
            for (one, other) in parameters.iter().zip(&resumed) {
                assert!(one.equal(other)?, "{name} on {device}");
            }
        }
    }
    Ok(())
}

#[test]
fn every_optimizer_follows_a_parameter_to_another_dtype() -> Result<()> {
    for (name, build) in OPTIMIZERS {
        let mut layer = nn::Linear::new_with(3, 2, Device::Cpu)?;
        let mut optimizer = build(&nn::Module::parameters(&layer))?;
        for dtype in [DType::F32, DType::F64, DType::F16] {
            nn::Module::to(&mut layer, dtype)?;
            set_gradients_of(layer.weight())?;
            let before = on_host(layer.weight())?;
            optimizer.step()?;
            assert_ne!(on_host(layer.weight())?, before, "{name}, {dtype}");
        }
    }
    Ok(())
}

fn set_gradients_of(parameter: &Tensor) -> Result<()> {
    parameter.set_grad(Some(parameter.ones_like()?))
}

#[test]
fn options_out_of_their_range_are_errors_that_name_them() -> Result<()> {
    let p = start(Device::Cpu)?;
    let errors = [
        (Adadelta::new(&p, 0.1).rho(1.1).build().map(drop), "rho"),
        (Adafactor::new(&p, 0.1).d(0.0).build().map(drop), "`d`"),
        (Adafactor::new(&p, 0.1).beta2_decay(0.8).build().map(drop), "beta2_decay"),
        (Adafactor::new(&p, 0.1).eps(-1e-30, 1e-3).build().map(drop), "eps1"),
        (Adagrad::new(&p, 0.1).lr_decay(-0.5).build().map(drop), "lr_decay"),
        (Adam::new(&p, -0.1).build().map(drop), "lr"),
        (AdamW::new(&p, 0.1).betas(0.0, 1.0).build().map(drop), "betas"),
        (ASGD::new(&p, 0.1).alpha(f64::NAN).build().map(drop), "alpha"),
        (Muon::new(&p[..1], 0.1).ns_steps(100).build().map(drop), "ns_steps"),
        (Muon::new(&p, 0.1).build().map(drop), "matrices"),
        (NAdam::new(&p, 0.1).momentum_decay(-0.2).build().map(drop), "momentum_decay"),
        (RMSprop::new(&p, 0.1).momentum(-1.0).build().map(drop), "momentum"),
        (Rprop::new(&p, 0.1).etas(1.0, 0.5).build().map(drop), "etas"),
        (SGD::new(&p, 0.1).nesterov().build().map(drop), "nesterov"),
        (LBFGS::new(&p, -1.0).build().map(drop), "lr"),
    ];
    for (error, argument) in errors {
        let error = error.expect_err(argument).to_string();
        assert!(error.contains(argument.trim_matches('`')), "{error}");
    }
    Ok(())
}

#[test]
fn lbfgs_finds_pytorchs_way_through_a_valley_and_goes_on_from_its_state() -> Result<()> {
    let expected = expected();
    for (name, search, lr) in
        [("None", LineSearch::None, 0.01), ("strong_wolfe", LineSearch::StrongWolfe, 1.0)]
    {
        for device in devices::all() {
            let x = Tensor::from_vec(vec![-1.5f64, 2.0], [2], device)?.requires_grad_(true)?;
            let build = || LBFGS::new([&x], lr).max_iter(5).line_search(search).build();
            let mut optimizer = build()?;
            let mut losses = Vec::new();
            for _ in 0..6 {
                let state = optimizer.state_dict()?;
                optimizer = build()?;
                optimizer.load_state_dict(&state).expect("it fits");
                let loss = optimizer.step(|| {
                    x.clear_grad();
                    let (a, b) = (x.select(0, 0)?, x.select(0, 1)?);
                    let valley = (&b - &a.square()?)?.square()?.mul(100)?;
                    let loss = valley.add(&a.sub(1)?.square()?)?;
                    loss.backward()?;
                    Ok(loss)
                })?;
                losses.push(loss.item::<f64>()?);
            }
            let expected = &expected["lbfgs"][name];
            let what = format!("{name} on {device}");
            assert_close(&what, &losses, &numbers(&expected["losses"]), 1e-6);
            assert_close(&what, &on_host(&x)?, &numbers(&expected["x"]), 1e-6);
        }
    }
    Ok(())
}

#[test]
fn gradients_are_clipped_by_pytorchs_norm() -> Result<()> {
    let expected = expected();
    for (name, norm) in [("1.0", 1.0), ("2.0", 2.0), ("inf", f64::INFINITY)] {
        for device in devices::all() {
            let parameters = start(device)?;
            set_gradients(&parameters, 0)?;
            let total = clip_grad_norm_(&parameters, 0.5, norm)?;
            let expected = &expected["clipped"][name];
            assert_close(name, &on_host(&total)?, &[expected["norm"].as_f64().expect("")], 1e-6);
            let gradients = expected["gradients"].as_array().expect("two gradients");
            for (parameter, expected) in parameters.iter().zip(gradients) {
                let gradient = parameter.grad().expect("it has one");
                assert_close(name, &on_host(&gradient)?, &numbers(expected), 1e-6);
            }
        }
    }
    Ok(())
}

#[test]
fn a_norm_that_is_no_number_is_an_error_if_it_is_asked_for() -> Result<()> {
    let parameters = start(Device::Cpu)?;
    set_gradients(&parameters, 0)?;
    parameters[1].set_grad(Some(parameters[1].full_like(f64::INFINITY)?))?;
    let options = ClipOptions::new().error_if_nonfinite();
    let error = clip_grad_norm_(&parameters, 1.0, options).unwrap_err().to_string();
    assert!(error.contains("norm"), "{error}");
    assert_eq!(on_host(&parameters[1].grad().expect("it has one"))?, [f64::INFINITY; 2]);
    clip_grad_norm_(&parameters, 1.0, ())?;
    assert!(on_host(&parameters[1].grad().expect("it has one"))?[0].is_nan());
    assert_eq!(clip_grad_norm_(&[] as &[Tensor], 1.0, ())?.item::<f32>()?, 0.0);
    Ok(())
}

#[test]
fn averages_of_parameters_are_means_or_fade_on_every_device() -> Result<()> {
    for device in devices::all() {
        for (averaging, expected) in
            [(Averaging::Mean, [2.0, 3.0]), (Averaging::Exponential(0.75), [1.6875, 2.375])]
        {
            let mut model = Linear::new_with(1, 2, device)?.without_bias();
            let mut averaged = AveragedModel::new(&model, averaging)?;
            averaged.to(device)?;
            for numbers in [[1.0f32, 1.0], [2.0, 3.0], [3.0, 5.0]] {
                let weight = Tensor::from_vec(numbers.to_vec(), [2, 1], device)?;
                no_grad(|| model.weight().copy_(&weight))?;
                averaged.update_parameters(&model)?;
            }
            let found = on_host(&averaged.module().weight().reshape([2])?)?;
            assert_close(&format!("{averaging:?} on {device}"), &found, &expected, 1e-6);
            let names: Vec<String> = averaged.state_dict().into_keys().collect();
            assert_eq!(names, ["module.weight", "n_averaged"], "as PyTorch's");
            assert_eq!(averaged.state_dict()["n_averaged"].item::<i64>()?, 3);
            // A step changes the module, and no average.
            model.to(DType::F64)?;
            averaged.update_parameters(&model)?;
            assert_eq!(averaged.module().weight().dtype(), DType::F32);
        }
    }
    let wrong = Linear::new(2, 2)?;
    let mut averaged = AveragedModel::new(&Linear::new(2, 3)?, Averaging::Mean)?;
    let error = averaged.update_parameters(&wrong).unwrap_err().to_string();
    assert!(error.contains("same shapes"), "{error}");
    assert!(AveragedModel::new(&wrong, Averaging::Exponential(1.5)).is_err());
    Ok(())
}

#[test]
fn a_step_with_a_gradient_that_is_no_number_is_skipped_and_lowers_the_scale() -> Result<()> {
    for device in devices::all() {
        let parameters = start(device)?;
        let mut optimizer = SGD::new(&parameters, 0.5).build()?;
        let options = GradScalerOptions {
            init_scale: 8.0,
            growth_interval: 2,
            ..GradScalerOptions::default()
        };
        let mut scaler = GradScaler::with_options(options)?;
        let loss = parameters[1].sum(())?;
        scaler.scale(&loss)?.backward()?;
        assert_eq!(on_host(&parameters[1].grad().expect("it has one"))?, [8.0, 8.0]);
        assert!(scaler.step(&mut optimizer)?);
        assert_eq!(on_host(&parameters[1])?, [3.5, -1.5], "the gradient of the step is 1");
        scaler.update();
        assert_eq!(scaler.get_scale(), 8.0);

        parameters[1].set_grad(Some(parameters[1].full_like(f64::NAN)?))?;
        let before = on_host(&parameters[0])?;
        parameters[0].set_grad(Some(parameters[0].ones_like()?))?;
        assert!(!scaler.step(&mut optimizer)?);
        assert_eq!(on_host(&parameters[0])?, before, "no parameter is changed");
        scaler.update();
        assert_eq!(scaler.get_scale(), 4.0);

        for scale in [4.0, 8.0] {
            parameters[1].set_grad(Some(parameters[1].full_like(4.0)?))?;
            scaler.unscale_(&optimizer)?;
            assert!(scaler.unscale_(&optimizer).is_err(), "once is enough");
            assert_eq!(on_host(&parameters[1].grad().expect("it has one"))?, [1.0, 1.0]);
            assert!(scaler.step(&mut optimizer)?);
            scaler.update();
            assert_eq!(scaler.get_scale(), scale, "it grows after two steps");
        }
        let mut resumed = GradScaler::new();
        resumed.set_state(&scaler.state()?)?;
        assert_eq!(resumed.get_scale(), 8.0);
    }
    let options = GradScalerOptions { growth_factor: 1.0, ..GradScalerOptions::default() };
    assert!(GradScaler::with_options(options).is_err());
    Ok(())
}
