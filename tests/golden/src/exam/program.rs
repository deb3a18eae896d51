//! Cases of kind `program`: steps, each of which makes a value.

use tensor::{Device, Tensor, no_grad};

use super::gradients::{DerivativeOrder, gradients, kept_bytes};
use crate::adapter::{CaseOutput, PreparedCall};
use crate::argument::{ArgumentReader, CaseArgument};
use crate::compare::{ExpectedOutputs, same_gradients, wrong};
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, ExamStep, ExpectedGradients, ProgramCase, WrittenValue};

/// Sits a case. It gives the bytes that the graph keeps for backward.
///
/// # Errors
/// It is not passed, or the place that is expected to fail gave an error.
pub(super) fn sit(
    folder: &CaseFolder,
    case: &ProgramCase,
    device: Device,
) -> Result<Option<u64>, CaseFailure> {
    let mut reader = ArgumentReader::new(folder, device);
    reader.values(&case.leaves)?;
    let mut values = reader.inputs.clone();
    let failing_step = case.error_at.integer().and_then(|at| usize::try_from(at).ok());
    for (number, step) in case.steps.iter().enumerate() {
        match self::step(&mut reader, step, &values, device) {
            Ok(value) => values.push(value),
            Err(CaseFailure::Library(error)) if failing_step != Some(number) => {
                return Err(elsewhere(number, step, error));
            }
            Err(failure) => return Err(failure),
        }
    }
    if failing_step.is_some() {
        return Ok(None);
    }
    let results: Vec<CaseOutput> =
        case.results.iter().map(|&number| CaseOutput::Tensor(values[number].clone())).collect();
    let fails_backward = case.error_at.text().is_some();
    if !fails_backward {
        check_results(folder, case, &values, &results)?;
    }
    let leaves: Vec<&Tensor> =
        values[..case.leaves.len()].iter().filter(|leaf| leaf.requires_grad()).collect();
    let all: Vec<CaseOutput> = values.iter().cloned().map(CaseOutput::Tensor).collect();
    let kept = kept_bytes(&all, &reader.inputs);
    derive(&Derivation { folder, asked: &case.gradients, reader: &reader, leaves }, &results)?;
    Ok(Some(kept))
}

/// An error in a step that is expected to succeed. One that says that there is no such dtype stays
/// what it is.
fn elsewhere(number: usize, step: &ExamStep, error: tensor::Error) -> CaseFailure {
    let failure = CaseFailure::Library(error);
    if failure.is_unsupported() {
        return failure;
    }
    CaseFailure::Elsewhere(format!("step {number}, {}: {}", step.op, failure.detail()))
}

fn check_results(
    folder: &CaseFolder,
    case: &ProgramCase,
    values: &[Tensor],
    results: &[CaseOutput],
) -> Result<(), CaseFailure> {
    let flags: Vec<bool> =
        case.results.iter().map(|&number| values[number].requires_grad()).collect();
    if flags != case.requires_grad {
        return wrong(format!("requires_grad is {flags:?}, not {:?}", case.requires_grad));
    }
    let expected = ExpectedOutputs {
        folder,
        outputs: &case.outputs,
        checks: &WrittenValue::Null,
        relation: None,
        rtol: case.rtol,
        atol: case.atol,
    };
    expected.check(results, &[])
}

/// The derivatives that a case asks for.
struct Derivation<'a> {
    folder: &'a CaseFolder,
    asked: &'a ExpectedGradients,
    reader: &'a ArgumentReader<'a>,
    leaves: Vec<&'a Tensor>,
}

/// Computes the gradients of the results by the leaves, and of these once more, and compares them
/// where they are given. An error case has no gradients to compare with.
fn derive(derivation: &Derivation<'_>, results: &[CaseOutput]) -> Result<(), CaseFailure> {
    let Derivation { folder, asked, reader, leaves } = derivation;
    if asked.cotangents.is_empty() {
        return Ok(());
    }
    let found = gradients(reader, results, &asked.cotangents, leaves, DerivativeOrder::Again)?;
    let Some(grads) = &asked.grads else { return Ok(()) };
    let tolerance = (asked.grad_rtol, asked.grad_atol);
    same_gradients(folder, "gradient", &found, grads, tolerance)?;
    let Some(seconds) = &asked.grads2 else { return Ok(()) };
    let weighed = |(gradient, weight): (Option<Tensor>, &WrittenValue)| {
        let weight = if *weight == WrittenValue::Null { None } else { Some(weight.clone()) };
        // PyTorch may record one that depends on no leaf, for instance through zeros that it adds.
        let gradient = gradient.filter(Tensor::requires_grad);
        Some((CaseOutput::Tensor(gradient?), weight?))
    };
    let (firsts, weights): (Vec<CaseOutput>, Vec<WrittenValue>) =
        found.into_iter().zip(&asked.weights).filter_map(weighed).unzip();
    let found = match firsts.is_empty() {
        // Gradients that depend on no leaf have none.
        true => vec![None; leaves.len()],
        false => gradients(reader, &firsts, &weights, leaves, DerivativeOrder::First)?,
    };
    same_gradients(folder, "second derivative", &found, seconds, tolerance)
}

/// The value that a step makes.
fn step(
    reader: &mut ArgumentReader<'_>,
    step: &ExamStep,
    values: &[Tensor],
    device: Device,
) -> Result<Tensor, CaseFailure> {
    let mut args = Vec::new();
    for written in &step.args {
        args.push(argument(reader, written, values)?);
    }
    let kwargs = reader.entries(&step.kwargs)?;
    let call = PreparedCall::new(program_name(&step.op), &args, &kwargs, device)?;
    let outputs = if step.no_grad { no_grad(|| call.run()) } else { call.run() }?;
    match outputs.into_iter().next() {
        Some(CaseOutput::Tensor(value)) => Ok(value),
        _ => Err(CaseFailure::Elsewhere(format!("{} gives no tensor", step.op))),
    }
}

/// The name by which the adapter has an operation with the positions that programs give it.
pub(crate) fn program_name(op: &str) -> &str {
    match op {
        "where" => "torch.where",
        "softplus" => "nn.functional.softplus",
        _ => op,
    }
}

/// An argument of a step, in which `{"v": n}` stands for value n.
fn argument(
    reader: &mut ArgumentReader<'_>,
    written: &WrittenValue,
    values: &[Tensor],
) -> Result<CaseArgument, CaseFailure> {
    if let Some(number) = written.only("v").and_then(WrittenValue::integer) {
        let value = usize::try_from(number).ok().and_then(|number| values.get(number));
        let value = value.ok_or_else(|| CaseFailure::Elsewhere(format!("no value {number}")))?;
        return Ok(CaseArgument::Tensor(value.clone()));
    }
    match written {
        WrittenValue::List(items) => {
            let items = items.iter().map(|item| argument(reader, item, values));
            Ok(CaseArgument::List(items.collect::<Result<_, _>>()?))
        }
        written => reader.value(written),
    }
}
