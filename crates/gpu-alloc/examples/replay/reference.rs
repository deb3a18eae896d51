//! The policies against what the genuine PyTorch allocator did with the same traces.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use serde_json::Value;

use crate::contender::{Contender, PolicyName, UNLIMITED, contender};
use crate::device::PAGE;
use crate::figures;
use crate::replay::{AtFailure, ReplayResult};
use crate::trace::AllocationTrace;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A trace of the repository, which is read once for all tests.
pub(crate) fn trace(name: &'static str) -> &'static AllocationTrace {
    static TRACES: Mutex<BTreeMap<&str, &OnceLock<AllocationTrace>>> = Mutex::new(BTreeMap::new());
    let mut traces = TRACES.lock().expect("nothing panics with it");
    let trace = *traces.entry(name).or_insert_with(|| Box::leak(Box::default()));
    // Others read other traces meanwhile.
    drop(traces);
    trace.get_or_init(|| {
        let trace = AllocationTrace::open(&data(&format!("{name}.trace.gz")), None);
        trace.expect("the trace is in the repository")
    })
}

/// The figures of one trace with one setting.
fn reference(name: &str, setting: &str) -> &'static Value {
    static REFERENCE: OnceLock<Value> = OnceLock::new();
    let read = || {
        let text = std::fs::read(data("pytorch-reference.json")).expect("it is in the repository");
        serde_json::from_slice(&text).expect("it is JSON")
    };
    &REFERENCE.get_or_init(read)["traces"][name]["configs"][setting]
}

fn with_conf(conf: &str) -> Box<dyn Contender> {
    let options = conf.parse().expect("the options are well formed");
    contender(PolicyName::Pytorch, &options)
}

/// The settings with which the reference was made, under the names it gives them.
const SETTINGS: [(&str, &str); 8] = [
    ("native", ""),
    ("expandable", "expandable_segments:True"),
    ("roundup4", "roundup_power2_divisions:4"),
    ("expandable_roundup4", "expandable_segments:True,roundup_power2_divisions:4"),
    ("max_split_128", "max_split_size_mb:128"),
    ("max_split_512", "max_split_size_mb:512"),
    ("gc_0.8", "garbage_collection_threshold:0.8,per_process_memory_fraction:0.999999"),
    ("control_fraction_only", "per_process_memory_fraction:0.999999"),
];

/// Every change of physical memory, without limits, is the reference's; so are peaks and calls.
fn check_driver_log(name: &'static str) {
    let trace = trace(name);
    for (setting, conf) in &SETTINGS[..2] {
        let outcome = with_conf(conf).replay(trace, UNLIMITED, AtFailure::Stop);
        let reference = reference(name, setting);
        check_figures(&outcome, &reference["unlimited"], setting);
        assert_eq!(serde_json::json!(outcome.changes), reference["driver_log"], "{setting}");
    }
}

/// Whether the environment asks for all replays, which take minutes in the dev profile.
pub(crate) fn are_all_asked_for() -> bool {
    std::env::var("REPLAYS").is_ok_and(|replays| replays == "all")
}

/// The settings that a trace is replayed with on a small device: the first, and all of them if the trace
/// is short or the environment says so.
fn settings(trace: &AllocationTrace) -> &'static [(&'static str, &'static str)] {
    const MAX_SHORT: usize = 100_000;
    let are_all = trace.events.len() <= MAX_SHORT || are_all_asked_for();
    if are_all { &SETTINGS } else { &SETTINGS[..1] }
}

/// On the smallest device that PyTorch completes the trace on, all calls and retries are PyTorch's,
/// too; and a page less does not do.
fn check_least_capacity(name: &'static str) {
    let trace = trace(name);
    for (setting, conf) in settings(trace) {
        let reference = reference(name, setting);
        let capacity = reference["min_capacity"].as_u64().expect("it is a number");
        let outcome = with_conf(conf).replay(trace, capacity, AtFailure::GoOn);
        check_figures(&outcome, &reference["at_min_capacity"], setting);
        let less = with_conf(conf).replay(trace, capacity - PAGE, AtFailure::Stop);
        assert_ne!(less.failures, 0, "{setting}");
    }
}

/// All figures that the reference has as well, but for how often it asked events.
fn check_figures(outcome: &ReplayResult, reference: &Value, setting: &str) {
    let ours = figures::of_replay(outcome);
    let theirs = reference.as_object().expect("it has figures");
    for (figure, value) in theirs.iter().filter(|(figure, _)| *figure != "event_queries") {
        assert_eq!(ours.get(figure), Some(value), "{setting}: {figure}");
    }
}

macro_rules! each_trace {
    ($($trace:ident,)*) => {$(
        mod $trace {
            #[test]
            fn the_driver_log_is_pytorchs() {
                super::check_driver_log(stringify!($trace));
            }

            #[test]
            fn the_calls_on_the_smallest_device_that_does_are_pytorchs() {
                super::check_least_capacity(stringify!($trace));
            }
        }
    )*};
}

each_trace! {
    adversarial,
    cnn_train,
    inference_kvcache,
    multi_stream,
    transformer_train,
    varlen_train_lr,
    varlen_train_lro,
    varlen_train_plain,
}
