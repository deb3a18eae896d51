//! Cases of kind `optim`: curves of optimizers, learning rates, and clipped gradients.

use nn::optim::lr_scheduler::LRScheduler;
use nn::optim::{Optimizer, SGD};
use nn::utils::{ClipOptions, clip_grad_norm_, clip_grad_value_};
use tensor::{Device, Tensor};

use crate::adapter::{CaseOutput, OptimizerGroup, lbfgs, optimizer, plateau, schedule};
use crate::argument::ArgumentReader;
use crate::compare::ExpectedOutputs;
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, OptimCase, StoredTensor, WrittenValue};

/// Sits a case.
///
/// # Errors
/// It is not passed, or the library gave an error where one is expected.
pub(super) fn sit(
    folder: &CaseFolder,
    case: &OptimCase,
    device: Device,
) -> Result<Option<u64>, CaseFailure> {
    let mut reader = ArgumentReader::new(folder, device);
    let outputs = match case.op.strip_prefix("optim.lr_scheduler.") {
        Some(name) => rates(name, case, device)?,
        None if case.op.starts_with("nn.utils.") => clipped(&mut reader, case)?,
        None if case.op == "optim.LBFGS" => lbfgs_curve(&mut reader, case)?,
        None => curve(&mut reader, case)?,
    };
    if case.error.is_some() {
        return Ok(None);
    }
    let expected = ExpectedOutputs {
        folder,
        outputs: &case.outputs,
        checks: &WrittenValue::Null,
        relation: None,
        rtol: case.rtol,
        atol: case.atol,
    };
    expected.check(&outputs.into_iter().map(CaseOutput::Tensor).collect::<Vec<_>>(), &[])?;
    Ok(None)
}

/// The tensors that are written, not as inputs.
fn tensors(
    reader: &ArgumentReader<'_>,
    written: &[WrittenValue],
) -> Result<Vec<Tensor>, CaseFailure> {
    let of = |value: &WrittenValue| match StoredTensor::of(value) {
        Some(stored) => reader.tensor(&stored),
        None => Err(CaseFailure::Elsewhere("no tensor".to_owned())),
    };
    written.iter().map(of).collect()
}

/// The parameters of a case.
fn parameters(reader: &ArgumentReader<'_>, case: &OptimCase) -> Result<Vec<Tensor>, CaseFailure> {
    let values = tensors(reader, &case.params)?;
    let leaf = |value: Tensor| value.requires_grad_(true).map_err(CaseFailure::of_preparation);
    values.into_iter().map(leaf).collect()
}

/// The groups of parameters of a case, with their options.
fn groups(
    reader: &mut ArgumentReader<'_>,
    case: &OptimCase,
    parameters: &[Tensor],
) -> Result<Vec<OptimizerGroup>, CaseFailure> {
    let Some(written) = &case.groups else {
        let options = reader.entries(&case.kwargs)?;
        return Ok(vec![OptimizerGroup { parameters: parameters.to_vec(), options }]);
    };
    let mut groups = Vec::new();
    for group in written {
        let numbers = group.get("params").map_or(&[][..], WrittenValue::items);
        let own = numbers.iter().filter_map(|number| parameters.get(number.integer()? as usize));
        let mut options = Vec::new();
        if matches!(&*case.op, "optim.SGD" | "optim.ASGD") {
            // The common learning rate, which a group's own replaces.
            options.push(("lr".to_owned(), crate::argument::CaseArgument::Float(0.01)));
        }
        options.extend(reader.entries(group.get("kwargs").unwrap_or(&WrittenValue::Null))?);
        groups.push(OptimizerGroup { parameters: own.cloned().collect(), options });
    }
    Ok(groups)
}

/// The parameters after each step, stacked.
struct Curves(Vec<Vec<Tensor>>);

impl Curves {
    fn push(&mut self, parameters: &[Tensor]) -> Result<(), CaseFailure> {
        self.0.resize(parameters.len(), Vec::new());
        for (curve, parameter) in self.0.iter_mut().zip(parameters) {
            curve.push(parameter.detach().clone_data()?);
        }
        Ok(())
    }

    fn stacked(self) -> Result<Vec<Tensor>, CaseFailure> {
        Ok(self.0.iter().map(|curve| Tensor::stack(curve, 0)).collect::<tensor::Result<_>>()?)
    }
}

fn curve(reader: &mut ArgumentReader<'_>, case: &OptimCase) -> Result<Vec<Tensor>, CaseFailure> {
    let parameters = parameters(reader, case)?;
    let groups = groups(reader, case, &parameters)?;
    let mut optimizer = optimizer(&case.op, &groups)?;
    let slopes = tensors(reader, &case.slopes)?;
    let steps = slopes.first().map_or(0, |slopes| slopes.shape()[0]);
    let mut curves = Curves(Vec::new());
    for step in 0..steps {
        for (parameter, slopes) in parameters.iter().zip(&slopes) {
            parameter.set_grad(Some(slopes.select(0, step as isize)?.clone_data()?))?;
        }
        optimizer.step()?;
        curves.push(&parameters)?;
    }
    curves.stacked()
}

/// The curve of L-BFGS, whose loss is the sum over k of `(k + 1) / 2 * sum((param_k - target_k)²)`.
fn lbfgs_curve(
    reader: &mut ArgumentReader<'_>,
    case: &OptimCase,
) -> Result<Vec<Tensor>, CaseFailure> {
    let parameters = parameters(reader, case)?;
    let options = reader.entries(&case.kwargs)?;
    let group = OptimizerGroup { parameters: parameters.clone(), options };
    let mut optimizer = lbfgs(&group)?;
    let targets = tensors(reader, &case.targets)?;
    let steps = case.outputs.first().and_then(StoredTensor::of).map_or(0, |curve| curve.shape[0]);
    let mut curves = Curves(Vec::new());
    for _ in 0..steps {
        optimizer.step(|| {
            parameters.iter().for_each(Tensor::clear_grad);
            let mut loss: Option<Tensor> = None;
            for (k, (parameter, target)) in parameters.iter().zip(&targets).enumerate() {
                let part = parameter.sub(target)?.square()?.mul(0.5 * (k + 1) as f64)?.sum(())?;
                loss = Some(match loss {
                    None => part,
                    Some(loss) => loss.add(&part)?,
                });
            }
            let loss = loss.map_or_else(|| Tensor::zeros([0; 0], ()), Ok)?;
            loss.backward()?;
            Ok(loss)
        })?;
        curves.push(&parameters)?;
    }
    curves.stacked()
}

/// The learning rates before the first step and after each, and the momenta.
fn rates(name: &str, case: &OptimCase, device: Device) -> Result<Vec<Tensor>, CaseFailure> {
    let mut groups = Vec::new();
    for _ in &case.base {
        groups.push(Tensor::zeros([1], device)?.requires_grad_(true)?);
    }
    let [(first, first_rate), further @ ..] =
        &groups.iter().zip(&case.base).collect::<Vec<_>>()[..]
    else {
        return Err(CaseFailure::Elsewhere("no learning rates".to_owned()));
    };
    let mut builder = SGD::new([*first], **first_rate).momentum(case.momentum);
    for (parameter, rate) in further {
        builder = builder.param_group([*parameter]).lr(**rate);
    }
    let mut optimizer = builder.build()?;
    let mut read = RateReader::default();
    if name == "ReduceLROnPlateau" {
        let mut scheduler = plateau(&case.kwargs)?;
        read.read(&optimizer);
        for &metric in &case.metrics {
            optimizer.step()?;
            scheduler.step(&mut optimizer, metric)?;
            read.read(&optimizer);
        }
    } else {
        let schedule = schedule(name, &case.kwargs)?;
        let mut scheduler = LRScheduler::new(&mut optimizer, schedule)?;
        read.read(&optimizer);
        let rows = case.outputs.first().and_then(StoredTensor::of).map_or(1, |rows| rows.shape[0]);
        for _ in 1..rows {
            optimizer.step()?;
            scheduler.step(&mut optimizer)?;
            read.read(&optimizer);
        }
    }
    let columns = case.base.len();
    let mut outputs = vec![table(read.rates, columns)?];
    if case.outputs.len() > 1 {
        outputs.push(table(read.momenta, columns)?);
    }
    Ok(outputs)
}

/// The rates and the momenta of an optimizer after each step.
#[derive(Default)]
struct RateReader {
    rates: Vec<f64>,
    momenta: Vec<f64>,
}

impl RateReader {
    fn read(&mut self, optimizer: &impl Optimizer) {
        self.rates.extend(optimizer.learning_rates());
        self.momenta.extend(optimizer.momenta().unwrap_or_default());
    }
}

fn table(numbers: Vec<f64>, columns: usize) -> tensor::Result<Tensor> {
    let rows = numbers.len() / columns;
    Tensor::from_vec(numbers, [rows, columns], Device::Cpu)
}

/// The gradients after they were clipped, and their norm where it is one.
fn clipped(reader: &mut ArgumentReader<'_>, case: &OptimCase) -> Result<Vec<Tensor>, CaseFailure> {
    let mut parameters = Vec::new();
    for slope in tensors(reader, &case.slopes)? {
        let parameter = slope.zeros_like()?.requires_grad_(true)?;
        parameter.set_grad(Some(slope))?;
        parameters.push(parameter);
    }
    let number = |name: &str| {
        let value = case.kwargs.get(name)?;
        value.float().or_else(|| value.integer().map(|number| number as f64))
    };
    let missing = || CaseFailure::Unsupported(case.op.clone());
    let known = ["max_norm", "norm_type", "error_if_nonfinite", "clip_value"];
    if case.kwargs.entries().iter().any(|(name, _)| !known.contains(&&**name)) {
        return Err(missing());
    }
    let mut norm = None;
    if case.op == "nn.utils.clip_grad_value_" {
        clip_grad_value_(&parameters, number("clip_value").ok_or_else(missing)?)?;
    } else {
        let mut options = ClipOptions::new().norm_type(number("norm_type").unwrap_or(2.0));
        if case.kwargs.get("error_if_nonfinite") == Some(&WrittenValue::Truth(true)) {
            options = options.error_if_nonfinite();
        }
        let max_norm = number("max_norm").ok_or_else(missing)?;
        norm = Some(clip_grad_norm_(&parameters, max_norm, options)?);
    }
    let gradients = parameters.iter().filter_map(Tensor::grad);
    Ok(gradients.chain(norm).collect())
}
