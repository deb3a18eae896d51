//! Optimizers, schedules of learning rates, initial values, clipped gradients, averages.

use nn::amp::{GradScaler, GradScalerOptions};
use nn::init::{self, FanMode, Nonlinearity};
use nn::optim::lr_scheduler::{
    ChainedScheduler, CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR, LRSchedule,
    LRScheduler, LinearLR, MultiplicativeLR, OneCycleLR, PlateauOptions, PolynomialLR,
    ReduceLROnPlateau, SequentialLR, StepLR,
};
use nn::optim::{
    ASGD, Adadelta, Adafactor, Adagrad, AdamW, Adamax, LBFGS, LineSearch, LrAdjustment, Muon,
    NAdam, Optimizer, RAdam, RMSprop, Rprop,
};
use nn::utils::{ClipOptions, clip_grad_norm_, clip_grad_value_};
use nn::{
    AveragedModel, Averaging, Forward, GRU, GRUCell, LSTM, LSTMCell, Module, RNN, RNNCell,
    RNNNonlinearity, Stateful,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "nn::optim::lr_scheduler::LRScheduler::new", "nn::optim::lr_scheduler::LRScheduler::step",
    "nn::optim::lr_scheduler::LRSchedule::rate" => |d| {
        let mut optimizer = d.sgd()?.build().ok()?;
        let (epochs, factor) = (d.word()?, d.number()?);
        let _ = StepLR { step_size: epochs, gamma: factor }.rate(factor, d.word()?);
        let schedule = LinearLR { start_factor: factor, end_factor: 1.0, total_iters: epochs };
        let mut scheduler = LRScheduler::new(&mut optimizer, schedule).ok()?;
        let _ = scheduler.step(&mut d.adam()?.param_group([d.tensor()?]).build().ok()?);
        let _ = scheduler.step(&mut optimizer);
        let cosine = CosineAnnealingLR { t_max: epochs, eta_min: factor };
        let _ = cosine.rate(factor, d.word()?);
        let _ = optimizer.step();
        let state = scheduler.state().ok()?;
        let _ = scheduler.set_state(&state);
        Some(())
    };
    "nn::optim::lr_scheduler::CyclicLR::new", "nn::optim::lr_scheduler::OneCycleLR::new",
    "nn::optim::lr_scheduler::SequentialLR::new", "nn::optim::lr_scheduler::ChainedScheduler::new",
    "nn::optim::lr_scheduler::MultiplicativeLR::new",
    "nn::optim::lr_scheduler::LRSchedule::momentum" => |d| {
        let (epochs, number) = (d.word()?, d.number()?);
        let cyclic = CyclicLR {
            step_size_up: d.word()?,
            step_size_down: if d.flag()? { Some(d.word()?) } else { None },
            ..CyclicLR::new(number, d.number()?)
        };
        let cycle = OneCycleLR { pct_start: d.number()?, ..OneCycleLR::new(number, epochs) };
        let restarts =
            CosineAnnealingWarmRestarts { t_0: d.word()?, t_mult: d.word()?, eta_min: number };
        let fall = PolynomialLR { total_iters: epochs, power: d.number()? };
        let _ = MultiplicativeLR::new(move |_| number).rate(number, epochs % 9);
        let all: [Box<dyn LRSchedule + Send>; 4] =
            [Box::new(cyclic), Box::new(cycle), Box::new(restarts), Box::new(fall)];
        for schedule in &all {
            let _ = (schedule.rate(number, d.word()?), schedule.momentum(d.word()?));
        }
        let mut optimizer = d.adam()?.build().ok()?;
        if d.flag()? {
            let schedule = SequentialLR::new(all.into(), vec![d.word()?, d.word()?, d.word()?]);
            let _ = LRScheduler::new(&mut optimizer, schedule.ok()?);
        } else {
            let _ = LRScheduler::new(&mut optimizer, ChainedScheduler::new(all.into()));
        }
        Some(())
    };
    "nn::optim::lr_scheduler::ReduceLROnPlateau::new",
    "nn::optim::lr_scheduler::ReduceLROnPlateau::step" => |d| {
        let mut optimizer = d.sgd()?.build().ok()?;
        let (factor, threshold) = (d.number()?, d.number()?);
        let options = PlateauOptions {
            factor,
            threshold,
            patience: d.word()?,
            cooldown: d.word()?,
            ..PlateauOptions::default()
        };
        let mut scheduler = ReduceLROnPlateau::new(options).ok()?;
        for _ in 0..3 {
            let _ = scheduler.step(&mut optimizer, d.number()?);
        }
        let state = scheduler.state().ok()?;
        let _ = scheduler.set_state(&state);
        Some(())
    };
    "nn::optim::Optimizer::set_learning_rate", "nn::optim::Optimizer::set_learning_rates",
    "nn::optim::Optimizer::step", "nn::optim::Optimizer::set_momentum",
    "nn::optim::Optimizer::load_state_dict" => |d| {
        let (parameters, lr, number) = (d.owned_tensors()?, d.number()?, d.number()?);
        match d.rng().below(12) {
            0 => return steps(d, ASGD::new(parameters, lr).lambd(number).build().ok()?),
            1 => return steps(d, Adadelta::new(parameters, lr).rho(number).build().ok()?),
            2 => return steps(d, Adafactor::new(parameters, lr).eps(number, lr).build().ok()?),
            3 => return steps(d, Adagrad::new(parameters, lr).lr_decay(number).build().ok()?),
            4 => return steps(d, AdamW::new(parameters, lr).amsgrad().build().ok()?),
            5 => return steps(d, Adamax::new(parameters, lr).eps(number).build().ok()?),
            6 => return steps(d, NAdam::new(parameters, lr).momentum_decay(number).build().ok()?),
            7 => return steps(d, RAdam::new(parameters, lr).weight_decay(number).build().ok()?),
            8 => return steps(d, RMSprop::new(parameters, lr).momentum(number).build().ok()?),
            10 => {
                let muon = Muon::new(parameters, lr).ns_steps(d.rng().below(120) as u32);
                let muon = muon.adjust_lr_fn(LrAdjustment::SpectralUnclamped).without_nesterov();
                return steps(d, muon.build().ok()?);
            }
            9 => return steps(d, Rprop::new(parameters, lr).step_sizes(number, lr).build().ok()?),
            _ => {}
        }
        if d.flag()? {
            let optimizer = d.sgd()?.param_group([d.tensor()?]).momentum(d.number()?).build();
            steps(d, optimizer.ok()?)
        } else {
            let groups = d.adam()?.betas(d.number()?, d.number()?).param_group([d.tensor()?]);
            let optimizer = groups.lr(d.number()?).build();
            steps(d, optimizer.ok()?)
        }
    };
    "nn::optim::LBFGS::new", "nn::optim::LBFGS::step", "nn::optim::LBFGS::set_learning_rate",
    "nn::optim::LBFGS::load_state_dict", "nn::optim::LBFGSBuilder::history_size",
    "nn::optim::LBFGSBuilder::line_search", "nn::optim::LBFGSBuilder::lr",
    "nn::optim::LBFGSBuilder::max_eval", "nn::optim::LBFGSBuilder::max_iter",
    "nn::optim::LBFGSBuilder::tolerance_change",
    "nn::optim::LBFGSBuilder::tolerance_grad" => |d| {
        let parameter = d.tensor()?;
        let search = if d.flag()? { LineSearch::StrongWolfe } else { LineSearch::None };
        let builder = LBFGS::new([&parameter], d.number()?).lr(d.number()?).line_search(search);
        let builder = builder.max_iter(d.rng().below(4) as u64).max_eval(d.rng().below(9) as u64);
        let builder = builder.history_size(d.size()?).tolerance_grad(d.number()?);
        let mut optimizer = builder.tolerance_change(d.number()?).build().ok()?;
        let other = d.tensor()?;
        let makes_no_loss = d.flag()?;
        for _ in 0..2 {
            let _ = optimizer.step(|| {
                optimizer_loss(&parameter, if makes_no_loss { Some(&other) } else { None })
            });
        }
        optimizer.set_learning_rate(d.number()?);
        let mut state = optimizer.state_dict().ok()?;
        if d.flag()?
            && let Some(value) = state.values_mut().nth(d.rng().below(6))
        {
            *value = d.tensor()?;
        }
        let _ = optimizer.load_state_dict(&state);
        d.look(Some(parameter));
        Some(())
    };
    "nn::RNNBase::new", "nn::RNNBase::new_with", "nn::RNNBase::builder",
    "nn::RNNBuilder::num_layers", "nn::RNNBuilder::dropout", "nn::RNNBuilder::tensors",
    "nn::RNNBuilder::nonlinearity", "nn::RNNBuilder::proj_size" => |d| {
        let (input, hidden) = (d.rng().below(4), d.rng().below(4));
        let sequence = d.tensor()?;
        if d.flag()? {
            let builder = LSTM::builder(input, hidden).proj_size(d.rng().below(3));
            let builder = builder.num_layers(d.rng().below(3)).dropout(d.number()?);
            let mut layer = builder.tensors(d.options()?).bidirectional().build().ok()?;
            if d.flag()? {
                layer.eval();
            }
            let outcome = layer.forward(&(sequence, (d.tensor()?, d.tensor()?))).ok();
            d.look(outcome.map(|(output, _)| output));
        } else {
            let builder = RNN::builder(input, hidden).nonlinearity(RNNNonlinearity::ReLU);
            let layer = builder.batch_first().without_bias().build().ok()?;
            d.look(layer.forward(&sequence).ok().map(|(output, _)| output));
            let layer = GRU::new_with(input, hidden, d.options()?).ok()?;
            let outcome = layer.forward(&(sequence, d.tensor()?)).ok();
            d.look(outcome.map(|(output, _)| output));
        }
        Some(())
    };
    "nn::RNNCellBase::new", "nn::RNNCellBase::new_with", "nn::RNNCell::with_nonlinearity" => |d| {
        let (input, hidden) = (d.rng().below(4), d.rng().below(4));
        let cell = RNNCell::new(input, hidden).ok()?.with_nonlinearity(RNNNonlinearity::ReLU);
        let (one, two, three) = (d.tensor()?, d.tensor()?, d.tensor()?);
        d.look(cell.forward(&one).ok());
        let cell = GRUCell::new_with(input, hidden, d.options()?).ok()?.without_bias();
        d.look(cell.forward(&(one.clone(), two.clone())).ok());
        let cell = LSTMCell::new(input, hidden).ok()?;
        let outcome = cell.forward(&(one, (two, three))).ok();
        d.look(outcome.map(|(hidden, _)| hidden));
        Some(())
    };
    "nn::init::uniform_", "nn::init::normal_", "nn::init::constant_", "nn::init::ones_",
    "nn::init::zeros_", "nn::init::eye_", "nn::init::dirac_", "nn::init::sparse_",
    "nn::init::orthogonal_", "nn::init::trunc_normal_", "nn::init::xavier_uniform_",
    "nn::init::xavier_normal_", "nn::init::kaiming_uniform_",
    "nn::init::kaiming_normal_" => |d| {
        let (tensor, one, two) = (d.tensor()?, d.number()?, d.number()?);
        let slope = Nonlinearity::LeakyReLU(one);
        let filled = match d.rng().below(14) {
            0 => init::uniform_(&tensor, one, two),
            1 => init::normal_(&tensor, one, two),
            2 => init::constant_(&tensor, one),
            3 => init::ones_(&tensor),
            4 => init::zeros_(&tensor),
            5 => init::eye_(&tensor),
            6 => init::dirac_(&tensor, d.size()?),
            7 => init::sparse_(&tensor, one, two),
            8 => init::orthogonal_(&tensor, one),
            9 => init::trunc_normal_(&tensor, one, two, d.number()?, d.number()?),
            10 => init::xavier_uniform_(&tensor, one),
            11 => init::xavier_normal_(&tensor, one),
            12 => init::kaiming_uniform_(&tensor, FanMode::FanIn, slope),
            _ => init::kaiming_normal_(&tensor, FanMode::FanOut, slope),
        };
        d.look(filled.ok());
        Some(())
    };
    "nn::utils::clip_grad_norm_", "nn::utils::clip_grad_value_",
    "nn::utils::ClipOptions::norm_type" => |d| {
        let parameters = d.owned_tensors()?;
        for parameter in &parameters {
            let _ = parameter.mul(2).and_then(|y| y.sum(())).and_then(|y| y.backward());
        }
        let options = ClipOptions::new().norm_type(d.number()?);
        let options = if d.flag()? { options.error_if_nonfinite() } else { options };
        let (norm, value) = (d.number()?, d.number()?);
        d.look(clip_grad_norm_(&parameters, norm, options).ok());
        let _ = clip_grad_value_(&parameters, value);
        d.look_at_all(Ok(parameters));
        Some(())
    };
    "nn::amp::GradScaler::with_options", "nn::amp::GradScaler::scale",
    "nn::amp::GradScaler::unscale_", "nn::amp::GradScaler::step" => |d| {
        let options = GradScalerOptions {
            init_scale: d.number()?,
            growth_interval: d.word()?,
            ..GradScalerOptions::default()
        };
        let mut scaler = if d.flag()? {
            GradScaler::with_options(options).ok()?
        } else {
            GradScaler::new()
        };
        let mut optimizer = d.sgd()?.build().ok()?;
        for parameter in optimizer.parameters() {
            let _ = scaler.scale(&parameter).and_then(|y| y.sum(())).and_then(|y| y.backward());
        }
        if d.flag()? {
            let _ = scaler.unscale_(&optimizer);
        }
        let _ = scaler.step(&mut optimizer);
        scaler.update();
        let state = scaler.state().ok()?;
        let _ = scaler.set_state(&state);
        d.look_at_all(Ok(optimizer.parameters()));
        Some(())
    };
    "nn::AveragedModel::new", "nn::AveragedModel::update_parameters" => |d| {
        let model = d.linear()?;
        let share = d.number()?;
        let averaging = if d.flag()? { Averaging::Mean } else { Averaging::Exponential(share) };
        let mut averaged = AveragedModel::new(&model, averaging).ok()?;
        if d.flag()? {
            let _ = averaged.to(d.target()?);
        }
        let _ = averaged.update_parameters(&model);
        let _ = averaged.update_parameters(&d.linear()?);
        d.look_at_all(Ok(averaged.parameters()));
        Some(())
    };
};

/// A loss, or a tensor that is none.
fn optimizer_loss(
    parameter: &tensor::Tensor,
    other: Option<&tensor::Tensor>,
) -> tensor::Result<tensor::Tensor> {
    parameter.clear_grad();
    let loss = parameter.square()?.sum(())?;
    loss.backward()?;
    Ok(other.cloned().unwrap_or(loss))
}

fn steps(d: &mut Draw, mut optimizer: impl Optimizer) -> Option<()> {
    optimizer.set_learning_rate(d.number()?);
    let _ = optimizer.set_learning_rates(&[d.number()?, d.number()?]);
    let _ = optimizer.set_momentum(d.number()?);
    for _ in 0..2 {
        for parameter in optimizer.parameters() {
            let _ = parameter.mul(2).and_then(|y| y.sum(())).and_then(|y| y.backward());
        }
        let _ = optimizer.step();
    }
    let mut state = optimizer.state_dict().ok()?;
    if d.flag()? {
        let (name, tensor) = (d.text()?, d.tensor()?);
        if let Some(value) = state.values_mut().nth(d.rng().below(8)) {
            *value = tensor;
        } else {
            state.insert(name, tensor);
        }
    }
    let _ = optimizer.load_state_dict(&state);
    let _ = optimizer.step();
    optimizer.zero_grad();
    Some(())
}
