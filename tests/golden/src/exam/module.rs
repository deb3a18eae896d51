//! Cases of kind `module`: a module that is built, loaded and called.

use std::collections::BTreeMap;

use tensor::{Device, Tensor};

use super::gradients::{DerivativeOrder, gradients, kept_bytes};
use crate::adapter::{CaseOutput, build_module};
use crate::argument::{ArgumentReader, dtype};
use crate::compare::{ExpectedOutputs, same, same_gradients, to_host, wrong};
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, ModuleCase, StoredTensor, WrittenValue};

/// Sits a case. It gives the bytes that the graph keeps for backward.
///
/// # Errors
/// It is not passed.
pub(super) fn sit(
    folder: &CaseFolder,
    case: &ModuleCase,
    device: Device,
) -> Result<Option<u64>, CaseFailure> {
    Sitting { folder, case, device }.sit()
}

struct Sitting<'a> {
    folder: &'a CaseFolder,
    case: &'a ModuleCase,
    device: Device,
}

impl Sitting<'_> {
    fn sit(&self) -> Result<Option<u64>, CaseFailure> {
        let Sitting { folder, case, device } = *self;
        let mut made_of = ArgumentReader::new(folder, device);
        let args =
            made_of.values(case.constructor.get("args").map_or(&[][..], WrittenValue::items))?;
        let kwargs = case.constructor.get("kwargs").unwrap_or(&WrittenValue::Null);
        let kwargs = made_of.entries(kwargs)?;
        let mut built = build_module(&case.op, &args, &kwargs, device)?;
        built.to(device, dtype(&case.dtype)?).map_err(CaseFailure::of_preparation)?;
        let module = built.module();
        let state = named(&made_of, &case.state)?.into_iter().collect();
        module.load_state_dict(&state).map_err(|error| CaseFailure::Wrong(error.to_string()))?;
        match &*case.variant {
            "eval" => module.eval(),
            _ => module.train(),
        }
        let (parameters, buffers) = (module.named_parameters(), module.named_buffers());
        let mut reader = ArgumentReader::new(folder, device);
        let inputs = reader.values(&case.args)?;
        let keywords = reader.entries(&case.kwargs)?;
        let outputs: Vec<CaseOutput> =
            built.call(&inputs, &keywords)?.into_iter().map(CaseOutput::Tensor).collect();
        let expected = ExpectedOutputs {
            folder,
            outputs: &case.outputs,
            checks: &case.checks,
            relation: None,
            rtol: case.rtol,
            atol: case.atol,
        };
        expected.check(&outputs, &reader.inputs)?;
        self.check_buffers(&buffers)?;
        let Some(grads) = &case.gradients.grads else { return Ok(None) };
        let own = parameters.iter().chain(&buffers).map(|(_, tensor)| tensor.clone());
        let kept =
            kept_bytes(&outputs, &reader.inputs.iter().cloned().chain(own).collect::<Vec<_>>());
        let needing = reader.inputs.iter().filter(|input| input.requires_grad());
        let leaves: Vec<&Tensor> = needing.chain(parameters.iter().map(|(_, p)| p)).collect();
        let cotangents = &case.gradients.cotangents;
        let found = gradients(&reader, &outputs, cotangents, &leaves, DerivativeOrder::First)?;
        let tolerance = (case.gradients.grad_rtol, case.gradients.grad_atol);
        let of_inputs = leaves.len() - parameters.len();
        same_gradients(folder, "gradient", &found[..of_inputs], grads, tolerance)?;
        for ((name, _), found) in parameters.iter().zip(&found[of_inputs..]) {
            let want = case.param_grads.get(name).cloned().unwrap_or_default();
            let what = format!("gradient of {name},");
            same_gradients(folder, &what, std::slice::from_ref(found), &[want], tolerance)?;
        }
        Ok(Some(kept))
    }

    /// Compares the buffers that the call is to change.
    fn check_buffers(&self, buffers: &[(String, Tensor)]) -> Result<(), CaseFailure> {
        let buffers: BTreeMap<&str, &Tensor> =
            buffers.iter().map(|(name, buffer)| (&**name, buffer)).collect();
        for (name, written) in self.case.buffers_after.entries() {
            let (Some(buffer), Some(stored)) = (buffers.get(&**name), StoredTensor::of(written))
            else {
                return wrong(format!("there is no buffer {name}"));
            };
            let want = self.folder.array(&stored);
            let want = want.map_err(|error| CaseFailure::Elsewhere(format!("{error:#}")))?;
            same(name, &to_host(buffer)?, &want, self.case.rtol, self.case.atol)?;
        }
        Ok(())
    }
}

/// The tensors of an object by their names.
fn named(
    reader: &ArgumentReader<'_>,
    written: &WrittenValue,
) -> Result<Vec<(String, Tensor)>, CaseFailure> {
    let tensor = |(name, written): &(String, WrittenValue)| {
        let stored = StoredTensor::of(written);
        let stored = stored.ok_or_else(|| CaseFailure::Elsewhere(format!("{name}: no tensor")))?;
        Ok((name.clone(), reader.tensor(&stored)?))
    };
    written.entries().iter().map(tensor).collect()
}
