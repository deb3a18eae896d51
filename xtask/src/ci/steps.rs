//! The steps of `cargo xtask ci`, quick ones first.
//!
//! They share what they can: clippy, the documentation and the build without the software driver
//! need only metadata of the dependencies, which is made once; the tests, and all programs, come from
//! one build in the dev profile, whose loops that take long are optimised.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::StepReport;
use crate::paths::root;
use crate::process::{Transcript, cargo, run, transcript};
use crate::test_results::{Counts, closing_lines};
use crate::unavailable::Unavailable;
use crate::{bindgen, build_kernels, conformance, programs, tidy, walkthrough};

/// A workspace of its own, which commands for the workspace leave out.
const ABI_CLIENT: &str = "tests/abi-client/Cargo.toml";

pub(super) type CiStep = fn(&mut StepReport) -> Result<()>;

pub(super) const ALL: [(&str, CiStep); 19] = [
    ("format", format),
    ("clippy", clippy),
    ("tidy", |_| tidy::run()),
    ("tests", tests),
    ("all-cases", all_cases),
    ("documentation", documentation),
    ("kernels", |_| build_kernels::run(&build_kernels::Arguments::check())),
    ("bindings", |_| bindgen::run(&bindgen::Arguments::check())),
    ("without-software", without_software),
    ("abi", conformance_abi),
    ("cudarc", conformance_cudarc),
    ("numba", conformance_numba),
    ("ptx", conformance_ptx),
    ("runtime", conformance_runtime),
    ("mpi", conformance_mpi),
    ("digits", main_job),
    ("walkthrough", |_| walkthrough::run()),
    ("golden", golden),
    ("misuse", misuse),
];

pub(super) fn names() -> [&'static str; ALL.len()] {
    ALL.map(|(name, _)| name)
}

fn format(_: &mut StepReport) -> Result<()> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["fmt", "--manifest-path", ABI_CLIENT, "--check"]))
}

fn clippy(_: &mut StepReport) -> Result<()> {
    let strict = ["--all-targets", "--", "-D", "warnings"];
    run(cargo(&["clippy", "--workspace"]).args(strict))?;
    run(cargo(&["clippy", "--manifest-path", ABI_CLIENT]).args(strict))
}

/// The command of the README, to the letter.
fn tests(report: &mut StepReport) -> Result<()> {
    let transcript = test(report, &["test", "--workspace"])?;
    report.closing_lines = closing_lines(&transcript.lines).map(Into::into).collect();
    transcript.result
}

/// The tests that the README's command runs on a share of their cases, on all of them or on more.
fn all_cases(report: &mut StepReport) -> Result<()> {
    const CASES: [(&str, &str); 5] = [
        ("DRIVER_FAULTS", "all"),
        ("RANDOM_KERNELS", "1000"),
        ("REPLICA_SEEDS", "1"),
        ("REPLAYS", "all"),
        ("SEMANTICS_SEEDS", "10"),
    ];
    /// The tests that read them, by parts of their names.
    const TESTS: [&str; 7] = [
        "a_call_of_the_driver_that_fails",
        "a_call_that_fails",
        "bars::",
        "clauses",
        "random_kernels",
        "reference::",
        "s27_every_mode",
    ];
    let mut tests = cargo(&["test", "--workspace", "--tests", "--"]);
    let transcript = transcript(tests.args(TESTS).envs(CASES))?;
    report.note = Counts::of(&transcript.lines).to_string();
    transcript.result
}

fn documentation(_: &mut StepReport) -> Result<()> {
    run(cargo(&["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

/// Each crate that has the feature, as a user gets it who turns it off; and what a program is told
/// there that asks for the software driver.
fn without_software(report: &mut StepReport) -> Result<()> {
    let crates =
        ["gpu-runtime", "gpu-alloc", "tensor", "serialization", "nn", "parallel", "sluice"];
    let mut check = cargo(&["check", "--no-default-features"]);
    run(check.args(crates.iter().flat_map(|name| ["--package", name])))?;
    test(report, &["test", "--package", "gpu-runtime", "--no-default-features", "--lib"])?.result
}

fn conformance_abi(report: &mut StepReport) -> Result<()> {
    let (counts, result) = conformance::abi()?;
    report.note = counts.to_string();
    result
}

fn conformance_cudarc(report: &mut StepReport) -> Result<()> {
    let scores = conformance::cudarc::run()?;
    report.closing_lines = scores.iter().map(ToString::to_string).collect();
    conformance::cudarc::verdict(&scores)
}

fn conformance_numba(report: &mut StepReport) -> Result<()> {
    let score = conformance::numba::run(&conformance::numba::Arguments::short())?;
    report.note = score.to_string();
    conformance::numba::verdict(&score)
}

/// Runs `conformance ptx --short` with the nvcc that `cargo xtask toolkit` installs.
fn conformance_ptx(report: &mut StepReport) -> Result<()> {
    if let Err(error) = build_kernels::compiler() {
        report.note = format!("left out: {error}");
        return Ok(());
    }
    let (counts, result) = conformance::ptx()?;
    report.note = counts.to_string();
    result
}

/// Runs `conformance runtime --short` with the nvcc that `cargo xtask toolkit` installs.
fn conformance_runtime(report: &mut StepReport) -> Result<()> {
    if let Err(error) = build_kernels::compiler() {
        report.note = format!("left out: {error}");
        return Ok(());
    }
    let (counts, result) = conformance::runtime()?;
    report.note = counts.to_string();
    result
}

/// Runs `conformance mpi`, and looks at the crate as it is with MPI.
fn conformance_mpi(report: &mut StepReport) -> Result<()> {
    let (counts, result) = match conformance::mpi::run() {
        Err(error) if error.is::<Unavailable>() => {
            report.note = format!("skipped: {error}");
            return Ok(());
        }
        outcome => outcome?,
    };
    report.note = counts.to_string();
    result?;
    conformance::mpi::clippy()
}

/// The README's example, for a few epochs: enough to see that it learns.
fn main_job(report: &mut StepReport) -> Result<()> {
    let mut digits = programs::built("digits")?;
    digits.args(["--epochs", "3", "--json", "--device", "software:2"]);
    let transcript = transcript(&mut digits)?;
    transcript.result?;
    let json = transcript.lines.iter().rfind(|line| line.starts_with('{'));
    let json: Value = serde_json::from_str(json.context("the main job printed no JSON")?)?;
    let accuracy = json["test_accuracy"].as_f64().context("there is no test_accuracy")?;
    report.note = format!("test accuracy {accuracy:.3}");
    ensure!(accuracy > 0.8, "three epochs must be enough for a test accuracy of 0.8");
    Ok(())
}

/// The checked-in cases of the exam, on the CPU and on the software driver. What the library lacks is
/// no failure, but as many pairs of operation and dtype must pass as the file beside them says.
fn golden(report: &mut StepReport) -> Result<()> {
    const CASES: &str = "tests/golden/cases";
    let passed = std::fs::read_to_string(root().join(CASES).join("passed.json"))?;
    let passed: Value = serde_json::from_str(&passed)?;
    let pending = passed["pending"].as_array().cloned().unwrap_or_default();
    for device in ["cpu", "software:1"] {
        let mut golden = programs::built("golden")?;
        // Its status says whether all cases passed.
        let lines = transcript(golden.args(["run", CASES, "--json", "--device", device]))?.lines;
        let totals = lines.iter().rfind(|line| line.starts_with("{\"totals\""));
        let totals = totals.with_context(|| format!("golden printed no totals for {device}"))?;
        report.closing_lines.push(format!("{device}: {totals}"));
        let totals: Value = serde_json::from_str(totals)?;
        let bad = lines.iter().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let bad: Vec<Value> = bad
            .filter(|line| !matches!(line["result"].as_str(), None | Some("pass" | "unsupported")))
            .filter(|line| !pending.contains(&line["id"]))
            .collect();
        ensure!(bad.is_empty(), "{device}: {} cases are not right, such as {}", bad.len(), bad[0]);
        let before = passed[device].as_u64().with_context(|| format!("a number for {device}"))?;
        let pairs = totals["totals"]["pairs_passed"].as_u64().context("the pairs that pass")?;
        ensure!(pairs >= before, "{device}: {pairs} pairs pass, {before} did");
    }
    Ok(())
}

/// Random calls and random programs, fewer than for a result in `docs/results`.
fn misuse(report: &mut StepReport) -> Result<()> {
    const SEED: &str = "14";
    for number in [["--calls", "100000"], ["--programs", "1000"]] {
        let mut misuse = programs::built("misuse")?;
        let transcript = transcript(misuse.args(number).args(["--seed", SEED]))?;
        report.closing_lines.extend(transcript.lines.last().cloned());
        transcript.result?;
    }
    Ok(())
}

/// Runs tests and notes how many there were.
fn test(report: &mut StepReport, arguments: &[&str]) -> Result<Transcript> {
    let transcript = transcript(&mut cargo(arguments))?;
    report.note = Counts::of(&transcript.lines).to_string();
    Ok(transcript)
}
