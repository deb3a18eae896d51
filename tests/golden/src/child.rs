//! A child: sits some cases, and prints a line for each.

use std::io::{Write, stdout};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use tensor::Device;

use crate::arguments::{RunArguments, device};
use crate::exam;
use crate::folder::{CaseFolder, CaseHeader};
use crate::report::{CaseResult, CaseVerdict};

/// The line by which a child says that it begins.
pub(crate) const READY: &str = "ready";

/// The line by which a child says that it has lost its device, and sits no more cases.
pub(crate) const SPENT: &str = "spent";

/// The message of the last panic, and its place.
static LAST_PANIC: Mutex<String> = Mutex::new(String::new());

/// Sits the cases that the arguments name. It ends after a panic, since what it left behind is
/// unknown, and after a case in which the device was lost: an index out of range ends a kernel by an
/// assertion, after which the device cannot be used any more in the process.
///
/// # Errors
/// The folder cannot be read, or there is no such device.
pub(crate) fn run(arguments: &RunArguments) -> Result<()> {
    panic::set_hook(Box::new(|info| {
        *LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner) = info.to_string();
    }));
    let device = device(&arguments.device)?;
    tensor::set_num_threads(arguments.threads)?;
    let folder = CaseFolder::open(&arguments.dir)?;
    let from = arguments.from.unwrap_or(0);
    say(READY)?;
    let lines = folder.lines().step_by(arguments.every).skip(from).take(arguments.count);
    for line in lines {
        let header: CaseHeader = serde_json::from_str(line).context("a case")?;
        let sat = panic::catch_unwind(AssertUnwindSafe(|| {
            exam::sit(&folder, &header, line, device, arguments.second)
        }));
        let panicked = sat.is_err();
        let result = sat.unwrap_or_else(|_| {
            let detail = LAST_PANIC.lock().unwrap_or_else(PoisonError::into_inner).clone();
            CaseResult::lost(header.id, CaseVerdict::Panic, detail)
        });
        say(&serde_json::to_string(&result)?)?;
        if panicked {
            break;
        }
        if is_lost(device) {
            say(SPENT)?;
            break;
        }
    }
    Ok(())
}

/// Whether a case has lost the device.
fn is_lost(device: Device) -> bool {
    matches!(device, Device::Cuda(_)) && tensor::cuda::synchronize(device).is_err()
}

fn say(line: &str) -> Result<()> {
    let mut out = stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()?;
    Ok(())
}
