//! Sitting a case: read the arguments, call the library, compare.

mod gradients;
mod op;
mod program;

use serde::de::DeserializeOwned;
use tensor::Device;

use crate::failure::Failure;
use crate::folder::{CaseFolder, Header};
use crate::report::{CaseResult, Verdict};

/// Sits the case of a line.
pub(crate) fn sit(folder: &CaseFolder, header: &Header, line: &str, device: Device) -> CaseResult {
    tensor::manual_seed(0);
    let outcome = match &*header.kind {
        "op" => read(line).and_then(|case| op::sit(folder, &case, device)),
        "program" => read(line).and_then(|case| program::sit(folder, &case, device)),
        kind => Err(Failure::Unsupported(format!("the kind {kind}"))),
    };
    let saved = outcome.as_ref().ok().copied().flatten();
    let (verdict, detail) = judge(outcome.map(|_| ()), header.error.is_some());
    CaseResult { id: header.id, verdict, detail, saved }
}

/// The verdict on what came of a case. One that asks for an error is passed by any error of the
/// library.
fn judge(outcome: Result<(), Failure>, expects_error: bool) -> (Verdict, String) {
    match outcome {
        Ok(()) if expects_error => (Verdict::Wrong, "no error".to_owned()),
        Ok(()) => (Verdict::Pass, String::new()),
        Err(Failure::Library(_)) if expects_error => (Verdict::Pass, String::new()),
        Err(Failure::Wrong(why)) => (Verdict::Wrong, why),
        Err(failure) if failure.is_unsupported() => (Verdict::Unsupported, failure.detail()),
        Err(failure) => (Verdict::Error, failure.detail()),
    }
}

fn read<T: DeserializeOwned>(line: &str) -> Result<T, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Elsewhere(format!("the case: {error}")))
}
