//! Every schedule of learning rates against PyTorch.

use nn::optim::lr_scheduler::{
    AnnealStrategy, ChainedScheduler, ConstantLR, CosineAnnealingWarmRestarts, CyclicLR,
    CyclicMode, ExponentialLR, LRSchedule, LRScheduler, LinearLR, MultiStepLR, MultiplicativeLR,
    OneCycleLR, PerGroup, PlateauMode, PlateauOptions, PolynomialLR, ReduceLROnPlateau, SWALR,
    SequentialLR, ThresholdMode,
};
use nn::optim::{Adam, Optimizer, SGD};
use nn::{Result, Stateful};
use tensor::{Device, Tensor};

use crate::training::{assert_close, expected, numbers, start};

/// Rates and momenta of 16 epochs, one after the other.
fn rates(schedule: impl LRSchedule) -> Result<Vec<f64>> {
    let parameter = Tensor::zeros([1], Device::Cpu)?.requires_grad_(true)?;
    let mut optimizer = SGD::new([&parameter], 0.1).momentum(0.9).build()?;
    let mut scheduler = LRScheduler::new(&mut optimizer, schedule)?;
    let mut found = Vec::new();
    for _ in 0..16 {
        found.push(optimizer.learning_rate());
        found.extend(optimizer.momenta().expect("it has one"));
        scheduler.step(&mut optimizer)?;
    }
    Ok(found)
}

fn sequence() -> Vec<Box<dyn LRSchedule + Send>> {
    let warmup = LinearLR { start_factor: 0.25, end_factor: 1.0, total_iters: 4 };
    vec![Box::new(warmup), Box::new(ExponentialLR { gamma: 0.9 })]
}

#[test]
fn rates_and_momenta_follow_pytorchs_schedules() -> Result<()> {
    let three = CyclicLR { step_size_up: 3, ..CyclicLR::new(0.01, 0.1) };
    let halved = CyclicLR { step_size_down: Some(2), mode: CyclicMode::Triangular2, ..three };
    let one_cycle = OneCycleLR::new(0.2, 17);
    let linear = AnnealStrategy::Linear;
    let found = [
        ("multi_step", rates(MultiStepLR { milestones: vec![2, 5, 5, 9], gamma: 0.5 })?),
        ("constant", rates(ConstantLR { factor: 0.25, total_iters: 4 })?),
        ("polynomial", rates(PolynomialLR { total_iters: 8, power: 2.0 })?),
        ("restarts", rates(CosineAnnealingWarmRestarts { t_0: 3, t_mult: 2, eta_min: 0.01 })?),
        ("restarts_even", rates(CosineAnnealingWarmRestarts { t_0: 4, t_mult: 1, eta_min: 0.0 })?),
        ("multiplicative", rates(MultiplicativeLR::new(|epoch| 1.0 - 0.01 * epoch as f64))?),
        ("triangular", rates(three)?),
        ("triangular2", rates(halved)?),
        ("exp_range", rates(CyclicLR { mode: CyclicMode::ExpRange, gamma: 0.9, ..three })?),
        ("one_cycle", rates(one_cycle)?),
        (
            "one_cycle_linear",
            rates(OneCycleLR { anneal_strategy: linear, three_phase: true, ..one_cycle })?,
        ),
        ("sequential", rates(SequentialLR::new(sequence(), vec![5])?)?),
        ("chained", rates(ChainedScheduler::new(sequence()))?),
        ("swa", rates(SWALR { anneal_epochs: 4, ..SWALR::new(0.05) })?),
        (
            "swa_linear",
            rates(SWALR { anneal_epochs: 3, anneal_strategy: linear, ..SWALR::new(0.3) })?,
        ),
    ];
    let expected = expected();
    for (name, found) in found {
        let rows = expected["schedules"][name].as_array().expect("rows");
        let rows: Vec<f64> = rows.iter().flat_map(numbers).collect();
        assert_close(name, &found, &rows, 1e-12);
    }
    Ok(())
}

#[test]
fn groups_of_parameters_have_schedules_of_their_own() -> Result<()> {
    let parameters: Vec<Tensor> = start(Device::Cpu)?;
    let groups = || SGD::new(&parameters[..1], 0.1).param_group(&parameters[1..]).lr(0.5);
    let swa = |rates: &[f64]| {
        let schedule = |&lr| SWALR { anneal_epochs: 4, ..SWALR::new(lr) };
        PerGroup(rates.iter().map(schedule).collect())
    };
    let mut optimizer = groups().build()?;
    let mut scheduler = LRScheduler::new(&mut optimizer, swa(&[0.05, 0.3]))?;
    for expected in expected()["rates_of_groups"].as_array().expect("rows") {
        assert_close("rates", &optimizer.learning_rates(), &numbers(expected), 1e-12);
        scheduler.step(&mut optimizer)?;
    }
    for rates in [&[0.1][..], &[0.1, 0.2, 0.3], &[]] {
        let error = LRScheduler::new(&mut groups().build()?, swa(rates)).expect_err("two groups");
        assert!(error.to_string().contains("group"), "{error}");
    }
    Ok(())
}

#[test]
fn schedules_of_groups_stand_in_a_sequence() -> Result<()> {
    let parameters = start(Device::Cpu)?;
    let groups = || SGD::new(&parameters[..1], 1.0).param_group(&parameters[1..]).lr(2.0).build();
    let halved = || Box::new(ExponentialLR { gamma: 0.5 });
    let each = |factors: &[f64]| {
        let constant = |&factor| ConstantLR { factor, total_iters: 9 };
        Box::new(PerGroup(factors.iter().map(constant).collect()))
    };
    let mut optimizer = groups()?;
    let sequence = SequentialLR::new(vec![halved(), each(&[0.1, 0.2])], vec![1])?;
    let mut scheduler = LRScheduler::new(&mut optimizer, sequence)?;
    scheduler.step(&mut optimizer)?;
    assert_close("sequence", &optimizer.learning_rates(), &[0.1, 0.4], 1e-12);
    let mut optimizer = groups()?;
    let chained = ChainedScheduler::new(vec![halved(), each(&[0.1, 0.2])]);
    let mut scheduler = LRScheduler::new(&mut optimizer, chained)?;
    scheduler.step(&mut optimizer)?;
    assert_close("chained", &optimizer.learning_rates(), &[0.05, 0.2], 1e-12);
    let unequal = ChainedScheduler::new(vec![each(&[0.1]), each(&[0.1, 0.2])]);
    assert!(LRScheduler::new(&mut groups()?, unequal).is_err());
    Ok(())
}

#[test]
fn a_schedule_of_a_plateau_is_pytorchs_and_goes_on_from_its_state() -> Result<()> {
    let expected = expected();
    let values = numbers(&expected["values"]);
    let default = PlateauOptions::default();
    let min = PlateauOptions { factor: 0.5, patience: 1, cooldown: 1, min_lr: 0.02, ..default };
    let max = PlateauOptions {
        mode: PlateauMode::Max,
        factor: 0.5,
        patience: 0,
        threshold: 0.05,
        threshold_mode: ThresholdMode::Abs,
        ..default
    };
    for (name, options) in [("min", min), ("max_abs", max)] {
        let parameter = Tensor::zeros([1], Device::Cpu)?.requires_grad_(true)?;
        let mut optimizer = SGD::new([&parameter], 0.1).build()?;
        let mut scheduler = ReduceLROnPlateau::new(options)?;
        let mut found = Vec::new();
        for &value in &values {
            let state = scheduler.state()?;
            scheduler = ReduceLROnPlateau::new(options)?;
            scheduler.set_state(&state)?;
            scheduler.step(&mut optimizer, value)?;
            found.push(optimizer.learning_rate());
        }
        assert_close(name, &found, &numbers(&expected["plateaus"][name]), 1e-12);
    }
    Ok(())
}

#[test]
fn schedules_that_make_no_sense_are_errors() -> Result<()> {
    let parameter = Tensor::zeros([1], Device::Cpu)?.requires_grad_(true)?;
    let mut sgd = SGD::new([&parameter], 0.1).momentum(0.9).build()?;
    let warmup = LinearLR { start_factor: 0.0, end_factor: 1.0, total_iters: 4 };
    let error = LRScheduler::new(&mut sgd, warmup).unwrap_err().to_string();
    assert!(error.contains("start_factor"), "{error}");
    let constant = ConstantLR { factor: 1.5, total_iters: 4 };
    assert!(LRScheduler::new(&mut sgd, constant).is_err());
    assert!(SequentialLR::new(sequence(), vec![5, 6]).is_err());
    let options = PlateauOptions { factor: 1.0, ..PlateauOptions::default() };
    assert!(ReduceLROnPlateau::new(options).is_err());

    let mut scheduler = LRScheduler::new(&mut sgd, OneCycleLR::new(0.2, 2))?;
    scheduler.step(&mut sgd)?;
    scheduler.step(&mut sgd)?;
    let error = scheduler.step(&mut sgd).unwrap_err().to_string();
    assert!(error.contains("no more epochs"), "{error}");
    assert_eq!(scheduler.epoch(), 2);

    let mut plain = SGD::new([&parameter], 0.1).build()?;
    let error = LRScheduler::new(&mut plain, CyclicLR::new(0.01, 0.1)).unwrap_err().to_string();
    assert!(error.contains("momentum"), "{error}");
    let mut adam = Adam::new([&parameter], 0.1).build()?;
    LRScheduler::new(&mut adam, CyclicLR::new(0.01, 0.1))?;
    assert_eq!(adam.momenta(), Some(vec![0.9]));
    Ok(())
}
