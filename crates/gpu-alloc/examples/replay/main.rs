//! Replays a trace of allocations with one of the allocator's policies, over a model of a device,
//! and says what it took: peaks, driver calls, time, and the smallest device that would have done.
//!
//! ```sh
//! cargo run --release -p gpu-alloc --example replay -- \
//!     crates/gpu-alloc/tests/data/cnn_train.trace.gz --policy pytorch --min-capacity --json
//! ```
//!
//! The README beside the traces says what the lines of a trace mean, and how the model behaves.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "figures are what it is for")]

mod bench;
mod contender;
#[allow(dead_code, reason = "the tests of the policies look at more of it than a replay does")]
mod device;
mod figures;
mod min_capacity;
mod replay;
mod trace;

#[cfg(test)]
mod bars;
#[cfg(test)]
mod reference;

use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum as _};
use gpu_alloc::policy::PytorchOptions;
use serde_json::{Map, Value, json};

use contender::{Contender, PolicyName, UNLIMITED, contender};
use replay::AtFailure;
use trace::AllocationTrace;

/// Replays a trace of allocations with a policy.
#[derive(Debug, Parser)]
struct Arguments {
    /// The trace, plain or gzipped; or a snapshot that PyTorch has pickled, whose history is one.
    trace: PathBuf,
    /// The device whose history it is, in a snapshot; the first, if absent.
    #[arg(long)]
    device: Option<usize>,
    /// The policy; several, with commas between, are replayed in turn.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "default")]
    policy: Vec<PolicyName>,
    /// Options for PyTorch's policies, as in PYTORCH_CUDA_ALLOC_CONF.
    #[arg(long, default_value = "")]
    conf: PytorchOptions,
    /// The bytes of the device, or a size such as 8GiB; 512 GiB, which stand for no limit, if absent. A
    /// request that cannot be served is skipped and counted.
    #[arg(long, value_parser = size)]
    capacity: Option<NonZeroU64>,
    /// Look for the smallest capacity with which the trace completes.
    #[arg(long)]
    min_capacity: bool,
    /// Measure the time per event in the steady state.
    #[arg(long)]
    bench: bool,
    /// The number of repetitions to measure.
    #[arg(long, default_value = "15")]
    rounds: NonZeroUsize,
    /// Print everything, as JSON; otherwise the figures that stand for themselves, line by line.
    #[arg(long)]
    json: bool,
}

/// Reads a number of bytes, with or without a unit.
fn size(text: &str) -> Result<NonZeroU64, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("", 0)];
    let unit = units.iter().find_map(|(name, power)| Some((text.strip_suffix(name)?, power)));
    let bytes = unit
        .and_then(|(digits, power)| digits.trim_end().parse::<u64>().ok()?.checked_mul(1 << power));
    let expected = "a number of bytes above 0, or one with a unit: KiB, MiB, GiB, TiB";
    bytes.and_then(NonZeroU64::new).ok_or_else(|| format!("it must be {expected}"))
}

fn main() -> ExitCode {
    match report(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn report(arguments: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let choices = &arguments.policy;
    let contenders: Vec<_> =
        choices.iter().map(|choice| contender(*choice, &arguments.conf)).collect();
    let trace = AllocationTrace::open(&arguments.trace, arguments.device)?;
    arguments.conf.warnings().for_each(|warning| eprintln!("warning: {warning}"));
    if arguments.conf != PytorchOptions::default() && choices.contains(&PolicyName::Default) {
        eprintln!("warning: --conf is for PyTorch's policies, and changes nothing of the default");
    }
    let mut reports: Vec<_> =
        contenders.iter().map(|contender| figures(arguments, &trace, &**contender)).collect();
    if arguments.bench {
        let steady = bench::steady(&contenders, &trace, arguments.rounds.get());
        for (report, steady) in reports.iter_mut().zip(steady) {
            report.insert("steady".to_owned(), steady);
        }
    }
    for (report, choice) in reports.iter_mut().zip(choices) {
        let name = choice.to_possible_value().map(|value| value.get_name().to_owned());
        report.insert("policy".to_owned(), name.into());
    }
    print(arguments, reports);
    Ok(())
}

/// All figures but the times.
fn figures(
    arguments: &Arguments,
    trace: &AllocationTrace,
    contender: &dyn Contender,
) -> Map<String, Value> {
    let capacity = arguments.capacity.map_or(UNLIMITED, NonZeroU64::get);
    let outcome = contender.replay(trace, capacity, AtFailure::GoOn);
    let mut report = figures::of_trace(trace);
    report.insert("trace".to_owned(), arguments.trace.display().to_string().into());
    report.insert("conf".to_owned(), arguments.conf.to_string().into());
    report.insert("capacity".to_owned(), capacity.into());
    let reserved = outcome.statistics.reserved_bytes.all.peak;
    let over = figures::over_requested(reserved, trace);
    report.insert("reserved_over_requested".to_owned(), over.into());
    let replayed = figures::of_replay(&outcome);
    if arguments.capacity.is_none() {
        report.insert("unlimited".to_owned(), replayed.clone().into());
    }
    report.extend(replayed);
    report.insert("driver_log".to_owned(), json!(outcome.changes));
    if arguments.min_capacity {
        match min_capacity::min_capacity(contender, trace) {
            Some(found) => {
                let at_min_capacity = contender.replay(trace, found.safe, AtFailure::GoOn);
                report.extend(figures::of_min_capacity(found, trace, &at_min_capacity));
            }
            None => {
                report.insert("min_capacity".to_owned(), Value::Null);
                let reason = "the trace does not complete without a limit either";
                report.insert("min_capacity_reason".to_owned(), reason.into());
            }
        }
    }
    report
}

fn print(arguments: &Arguments, mut reports: Vec<Map<String, Value>>) {
    if arguments.json {
        let all = match &mut reports[..] {
            [one] => Value::Object(std::mem::take(one)),
            _ => reports.into_iter().map(Value::Object).collect(),
        };
        println!("{all:#}");
        return;
    }
    for report in reports {
        let stands_for_itself = |value: &Value| !value.is_array() && !value.is_object();
        for (name, value) in report.iter().filter(|(_, value)| stands_for_itself(value)) {
            println!("{name}: {value}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/cnn_train.trace.gz");

    fn is_refused(arguments: &[&str]) -> bool {
        let arguments = [&["replay"], arguments].concat();
        Arguments::try_parse_from(arguments).map_or(true, |arguments| report(&arguments).is_err())
    }

    #[test]
    fn bad_arguments_and_files_are_errors() {
        assert!(!is_refused(&[TRACE, "--policy", "pytorch", "--json"]));
        assert!(!is_refused(&[TRACE, "--policy", "pytorch", "--capacity", "8GiB", "--json"]));
        assert!(is_refused(&["no/such/file", "--policy", "pytorch"]));
        assert!(is_refused(&[
            concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
            "--policy",
            "pytorch"
        ]));
        assert!(is_refused(&[TRACE, "--policy", "best"]));
        for wrong in [
            ["--capacity", "0"],
            ["--capacity", "1GB"],
            ["--device", "0"],
            ["--conf", "max_split:1"],
        ] {
            assert!(
                is_refused(&[&[TRACE, "--policy", "pytorch"], &wrong[..]].concat()),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn figures_stand_under_the_names_of_the_reference() {
        let arguments = ["replay", TRACE, "--policy", "pytorch-expandable", "--min-capacity"];
        let arguments = Arguments::try_parse_from(arguments).expect("they are well formed");
        let trace = AllocationTrace::open(&arguments.trace, arguments.device)
            .expect("it is in the repository");
        let contender = contender(arguments.policy[0], &arguments.conf);
        let report = figures(&arguments, &trace, &*contender);
        let number = |name: &str| report[name].as_u64().expect("it is a number");
        assert_eq!(number("trace_peak_requested"), 5_997_296_912);
        assert_eq!(number("min_capacity"), 6_050_283_520);
        assert_eq!(number("peak_reserved"), 6_050_283_520);
        assert_eq!(report["at_min_capacity"]["cuMemCreate_calls"], 320);
        assert_eq!(report["unlimited"]["cuMemSetAccess_calls"], 134);
    }
}
