//! Second derivatives of an operation, compared with differences of first ones.

use tensor::{Backward, Device, Tensor, no_grad};

use super::gradients::{DerivativeOrder, gradients};
use super::op::called;
use crate::argument::ArgumentReader;
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, OpCase, StoredTensor, WrittenValue};

/// The distance of the points whose gradients are subtracted: large beside the roundings of `f64`,
/// small beside the numbers of the cases.
const STEP: f64 = 1e-5;

/// The share of a derivative that differences may be off.
const TOLERANCE: f64 = 1e-4;

/// The gradients of a case at some point, and the leaves that they are of.
struct GradientsAt {
    leaves: Vec<Tensor>,
    gradients: Vec<Option<Tensor>>,
}

/// Whether the gradients of a case can be differentiated, and their derivative along a direction is
/// the difference of gradients along it. `None` where no difference can be had: the case asks for no
/// gradients in `f64`, its leaves overlap themselves, or it lies at the edge of where the operation
/// is defined.
pub(super) fn second_derivative_holds(
    folder: &CaseFolder,
    case: &OpCase,
    device: Device,
) -> Option<bool> {
    let asks = case.gradients.grads.is_some() && case.gradients.cotangents.iter().all(is_double);
    if !asks {
        return None;
    }
    let at = |directions: &[Tensor], distance: f64, order| {
        gradients_at(folder, case, device, (directions, distance), order)
    };
    let here = at(&[], 0.0, DerivativeOrder::First).ok()?;
    let directions = like(&here.leaves).ok()?;
    let weights = like(here.gradients.iter().flatten()).ok()?;
    let beside = |distance: f64| {
        let there = at(&directions, distance, DerivativeOrder::First).ok()?;
        product(there.gradients.iter().flatten(), &weights).ok()
    };
    let difference = (beside(STEP)? - beside(-STEP)?) / (2.0 * STEP);
    let derivative = at(&[], 0.0, DerivativeOrder::Again)
        .and_then(|here| Ok(derivative_along(&here, &weights, &directions)?));
    let Ok(derivative) = derivative else { return Some(false) };
    if !difference.is_finite() || !derivative.is_finite() {
        return None;
    }
    Some((difference - derivative).abs() <= TOLERANCE * (1.0 + derivative.abs()))
}

fn is_double(cotangent: &WrittenValue) -> bool {
    StoredTensor::of(cotangent).is_none_or(|stored| stored.dtype == "f64")
}

/// The gradients of a case whose leaves are moved along directions.
fn gradients_at(
    folder: &CaseFolder,
    case: &OpCase,
    device: Device,
    (directions, distance): (&[Tensor], f64),
    order: DerivativeOrder,
) -> Result<GradientsAt, CaseFailure> {
    tensor::manual_seed(0);
    let mut reader = ArgumentReader::new(folder, device);
    let mut leaves = Vec::new();
    let outputs = called(case, device, &mut reader, |inputs| {
        leaves = inputs.iter().filter(|input| input.requires_grad()).cloned().collect();
        let mut pairs = leaves.iter().zip(directions);
        no_grad(|| pairs.try_for_each(|(leaf, way)| leaf.add_scaled_(way, distance).map(drop)))
    })?;
    let asked: Vec<&Tensor> = leaves.iter().collect();
    let gradients = gradients(&reader, &outputs, &case.gradients.cotangents, &asked, order)?;
    Ok(GradientsAt { leaves, gradients })
}

/// Random numbers in the shapes of tensors.
fn like<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> tensor::Result<Vec<Tensor>> {
    let random = |one: &Tensor| Tensor::randn(one.shape(), (one.dtype(), one.device()));
    tensors.into_iter().map(random).collect()
}

/// The sum of the products of all elements.
fn product<'a>(
    tensors: impl Iterator<Item = &'a Tensor>,
    weights: &[Tensor],
) -> tensor::Result<f64> {
    let mut sum = 0.0;
    for (tensor, weight) in tensors.zip(weights) {
        sum += tensor.detach().mul(weight)?.sum(())?.item::<f64>()?;
    }
    Ok(sum)
}

/// The derivative of the weighed gradients along directions, by the recorded backward pass.
fn derivative_along(
    here: &GradientsAt,
    weights: &[Tensor],
    directions: &[Tensor],
) -> tensor::Result<f64> {
    let recorded: Vec<_> = here.gradients.iter().flatten().zip(weights).collect();
    let pass = recorded
        .iter()
        .filter(|(gradient, _)| gradient.requires_grad())
        .fold(Backward::new(), |pass, (gradient, weight)| pass.output_with(gradient, weight));
    if recorded.iter().all(|(gradient, _)| !gradient.requires_grad()) {
        // The gradients are the same everywhere.
        return Ok(0.0);
    }
    let leaves: Vec<&Tensor> = here.leaves.iter().collect();
    let seconds = pass.collect(&leaves)?;
    let mut sum = 0.0;
    for (second, direction) in seconds.iter().zip(directions) {
        if let Some(second) = second {
            sum += product(std::iter::once(second), std::slice::from_ref(direction))?;
        }
    }
    Ok(sum)
}
