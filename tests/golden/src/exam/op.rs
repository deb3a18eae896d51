//! Cases of kind `op`: one call.

use tensor::{Device, Tensor};

use super::gradients::{DerivativeOrder, gradients, kept_bytes};
use crate::adapter::{CallOutcome, CaseOutput, PreparedCall};
use crate::argument::{ArgumentReader, CaseArgument};
use crate::compare::{ExpectedOutputs, same_gradients};
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, OpCase, WrittenValue};

/// Sits a case. It gives the bytes that the graph keeps for backward.
///
/// # Errors
/// It is not passed, or the call gave an error where one is expected.
pub(super) fn sit(
    folder: &CaseFolder,
    case: &OpCase,
    device: Device,
) -> Result<Option<u64>, CaseFailure> {
    let mut reader = ArgumentReader::new(folder, device);
    let outputs = called(case, device, &mut reader, |_| Ok(()))?;
    if case.error.is_some() {
        return finished(&outputs).map(|()| None);
    }
    let upper = case.kwargs.get("UPLO").and_then(WrittenValue::text) == Some("U");
    let expected = ExpectedOutputs {
        folder,
        outputs: &case.outputs,
        checks: &case.checks,
        relation: case.relation.as_deref().map(|name| (name, upper)),
        rtol: case.rtol,
        atol: case.atol,
    };
    expected.check(&outputs, &reader.inputs)?;
    let Some(grads) = &case.gradients.grads else { return Ok(None) };
    let kept = kept_bytes(&outputs, &reader.inputs);
    let leaves: Vec<&Tensor> = reader.inputs.iter().filter(|input| input.requires_grad()).collect();
    let found =
        gradients(&reader, &outputs, &case.gradients.cotangents, &leaves, DerivativeOrder::First)?;
    let tolerance = (case.gradients.grad_rtol, case.gradients.grad_atol);
    same_gradients(folder, "gradient", &found, grads, tolerance)?;
    Ok(Some(kept))
}

/// The outputs of the call, whose inputs are read, and prepared before anything is done with them.
///
/// # Errors
/// There is no such operation; the library gave an error, or the preparation did.
pub(super) fn called(
    case: &OpCase,
    device: Device,
    reader: &mut ArgumentReader<'_>,
    prepare: impl FnOnce(&[Tensor]) -> tensor::Result<()>,
) -> CallOutcome {
    let mut args = reader.values(&case.args)?;
    let kwargs = reader.entries(&case.kwargs)?;
    prepare(&reader.inputs).map_err(CaseFailure::of_preparation)?;
    if case.inplace
        && !case.direct
        && let Some(CaseArgument::Tensor(first)) = args.first_mut()
    {
        *first = first.clone_data().map_err(CaseFailure::of_preparation)?;
    }
    PreparedCall::new(&case.op, &args, &kwargs, device)?.run()
}

/// Waits for the results: an error of a device may come late.
fn finished(outputs: &[CaseOutput]) -> Result<(), CaseFailure> {
    for output in outputs {
        if let CaseOutput::Tensor(tensor) = output {
            crate::compare::to_host(tensor)?;
        }
    }
    Ok(())
}
