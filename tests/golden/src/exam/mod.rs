//! Sitting a case: read the arguments, call the library, compare.

mod gradients;
mod module;
mod op;
mod optim;
mod program;
mod second;

use serde::de::DeserializeOwned;
use tensor::Device;

use self::second::second_derivative_holds;
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, CaseHeader};
use crate::report::{CaseResult, CaseVerdict};

/// Sits the case of a line; if its second derivative is asked for, that too, which has no say in the
/// verdict.
pub(crate) fn sit(
    folder: &CaseFolder,
    header: &CaseHeader,
    line: &str,
    device: Device,
    with_second: bool,
) -> CaseResult {
    tensor::manual_seed(0);
    let outcome = match &*header.kind {
        "module" => read(line).and_then(|case| module::sit(folder, &case, device)),
        "op" => read(line).and_then(|case| op::sit(folder, &case, device)),
        "program" => read(line).and_then(|case| program::sit(folder, &case, device)),
        "optim" => read(line).and_then(|case| optim::sit(folder, &case, device)),
        kind => Err(CaseFailure::Unsupported(format!("the kind {kind}"))),
    };
    let saved = outcome.as_ref().ok().copied().flatten();
    let (verdict, detail) = judge(outcome.map(|_| ()), header.error.is_some());
    let asks_second = with_second && verdict == CaseVerdict::Pass && header.kind == "op";
    let second =
        asks_second.then(|| second_derivative_holds(folder, &read(line).ok()?, device)).flatten();
    CaseResult { id: header.id, verdict, detail, saved, second }
}

/// The verdict on what came of a case. One that asks for an error is passed by any error of the
/// library, and by that of a number's conversion to the type that the library takes.
fn judge(outcome: Result<(), CaseFailure>, expects_error: bool) -> (CaseVerdict, String) {
    match outcome {
        Ok(()) if expects_error => (CaseVerdict::Wrong, "no error".to_owned()),
        Ok(()) => (CaseVerdict::Pass, String::new()),
        Err(CaseFailure::Library(_) | CaseFailure::Conversion(_)) if expects_error => {
            (CaseVerdict::Pass, String::new())
        }
        Err(CaseFailure::Wrong(why)) => (CaseVerdict::Wrong, why),
        Err(failure) if failure.is_unsupported() => (CaseVerdict::Unsupported, failure.detail()),
        Err(failure) => (CaseVerdict::Error, failure.detail()),
    }
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, CaseFailure> {
    serde_json::from_str(line).map_err(|error| CaseFailure::Elsewhere(format!("the case: {error}")))
}
