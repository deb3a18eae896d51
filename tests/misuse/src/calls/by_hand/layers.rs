//! Layers and losses that functions of the program are a part of, computed parameters, parameters as one
//! vector.

use std::sync::Arc;

use nn::optim::lr_scheduler::{ChainedScheduler, ExponentialLR, LRSchedule, LRScheduler, PerGroup};
use nn::parametrize::{Parametrization, Parametrized, SpectralNorm, WeightNorm};
use nn::utils::{
    clip_grads_with_norm_, get_total_norm, parameters_to_vector, vector_to_parameters,
};
use nn::{Forward, Module, RReLU, TripletMarginWithDistanceLoss, Unflatten};
use tensor::{HookList, Reduction, Tensor};

use crate::calls::entry::{CallEntry, entries};

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "nn::RReLU::new", "nn::Unflatten::new" => |d| {
        let (input, lower, upper) = (d.tensor()?, d.number()?, d.number()?);
        let mut layer = RReLU::new(lower, upper);
        if d.flag()? {
            layer.eval();
        }
        d.look(layer.forward(&input).ok());
        let layer = Unflatten::new(d.dim()?, d.dims()?);
        let _ = layer.to_string();
        d.look(layer.forward(&input).ok());
        Some(())
    };
    "nn::TripletMarginWithDistanceLoss::distance_function",
    "nn::TripletMarginWithDistanceLoss::margin", "nn::TripletMarginWithDistanceLoss::swap",
    "nn::TripletMarginWithDistanceLoss::reduction",
    "tensor::Tensor::triplet_margin_with_distance_loss",
    "tensor::Tensor::triplet_margin_with_distance_loss_with" => |d| {
        let (anchor, near, far, other) = (d.tensor()?, d.tensor()?, d.tensor()?, d.tensor()?);
        d.look(anchor.triplet_margin_with_distance_loss(&near, &far, |a, b| a.sub(b)).ok());
        let is_other = d.flag()?;
        let distance = move |a: &Tensor, b: &Tensor| {
            if is_other { Ok(other.clone()) } else { a.dist(b, 2) }
        };
        let loss = TripletMarginWithDistanceLoss::new().distance_function(distance);
        let loss = loss.margin(d.number()?).swap(d.flag()?).reduction(Reduction::Sum);
        d.look(loss.forward(&(anchor, near, far)).ok());
        Some(())
    };
    "nn::parametrize::Parametrized::new", "nn::parametrize::Parametrization::originals",
    "nn::parametrize::Parametrization::compute", "nn::parametrize::WeightNorm::new",
    "nn::parametrize::SpectralNorm::dim", "nn::parametrize::SpectralNorm::eps",
    "nn::parametrize::SpectralNorm::power_iterations" => |d| {
        let (input, tensor, name) = (d.tensor()?, d.tensor()?, d.text()?);
        let name = if d.flag()? { "weight".to_owned() } else { name };
        let mut weight_norm = WeightNorm::new(d.maybe_size()?);
        let mut spectral_norm = SpectralNorm::new().dim(d.size()?).eps(d.number()?);
        spectral_norm = spectral_norm.power_iterations(d.rng().below(3));
        if d.flag()? {
            let _ = weight_norm.originals(&tensor).and_then(|all| weight_norm.compute(&all));
            let _ = spectral_norm.originals(&tensor);
            d.look(spectral_norm.compute(std::slice::from_ref(&input)).ok());
        }
        if let Ok(mut layer) = Parametrized::new(d.linear()?, name.clone(), weight_norm) {
            if d.flag()? {
                let _ = layer.replace_tensors(&mut |_| Ok(tensor.clone()));
            }
            d.look(layer.forward(&input).ok());
            d.look(layer.tensor().ok());
            d.look_at_all(layer.into_module().map(|layer| layer.parameters()));
        }
        let layer = Parametrized::new(d.linear()?, name, spectral_norm).ok()?;
        d.look(layer.forward(&input).ok());
        Some(())
    };
    "nn::utils::get_total_norm", "nn::utils::clip_grads_with_norm_",
    "nn::utils::parameters_to_vector", "nn::utils::vector_to_parameters" => |d| {
        let (tensors, other, norm) = (d.owned_tensors()?, d.tensor()?, d.number()?);
        for tensor in &tensors {
            let _ = tensor.mul(2).and_then(|y| y.sum(())).and_then(|y| y.backward());
        }
        let total = get_total_norm(&tensors, norm);
        let total = if d.flag()? { total.ok()? } else { other.clone() };
        let _ = clip_grads_with_norm_(&tensors, d.number()?, &total);
        let vector = parameters_to_vector(&tensors);
        let vector = if d.flag()? { vector.ok()? } else { other };
        let _ = vector_to_parameters(&vector, &tensors);
        d.look_at_all(Ok(tensors));
        Some(())
    };
    "nn::optim::lr_scheduler::LRSchedule::group_rate" => |d| {
        let gamma = d.number()?;
        let schedules = PerGroup(vec![ExponentialLR { gamma }; d.rng().below(3)]);
        let _ = schedules.group_rate(d.size()?, gamma, d.word()?);
        let both = ChainedScheduler::new(vec![Box::new(schedules.clone()), Box::new(schedules)]);
        let mut optimizer = d.sgd()?.param_group([d.tensor()?]).build().ok()?;
        let mut scheduler = LRScheduler::new(&mut optimizer, both).ok()?;
        let _ = scheduler.step(&mut optimizer);
        Some(())
    };
    "tensor::HookList::add" => |d| {
        type Hook = dyn Fn(&Tensor) -> tensor::Result<Tensor> + Send + Sync;
        let hooks: HookList<Hook> =
            HookList::new();
        let (input, other) = (d.tensor()?, d.tensor()?);
        let handle = hooks.add(Arc::new(move |x: &Tensor| x.add(&other)));
        for hook in hooks.hooks() {
            handle.remove();
            d.look(hook(&input).ok());
        }
        Some(())
    };
};
