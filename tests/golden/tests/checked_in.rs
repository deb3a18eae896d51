//! The checked-in cases: none may be wrong, and what once passed does.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The numbers that the whole set must reach on every device; `passed.json` beside the cases.
fn expected() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases/passed.json");
    let text = std::fs::read_to_string(&path).expect("it is checked in");
    serde_json::from_str(&text).expect("it is JSON")
}

/// The lines that the runner prints.
fn run(device: &str, every: usize) -> Vec<Value> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let done = Command::new(env!("CARGO_BIN_EXE_golden"))
        .arg("run")
        .arg(cases)
        .args(["--json", "--device", device, "--every", &every.to_string()])
        .output()
        .expect("the runner can be started");
    let text = String::from_utf8(done.stdout).expect("it prints text");
    text.lines().map(|line| serde_json::from_str(line).expect("lines are JSON")).collect()
}

fn assert_nothing_is_wrong(lines: &[Value]) {
    let pending = expected()["pending"].as_array().cloned().unwrap_or_default();
    let bad: Vec<&Value> = lines
        .iter()
        .filter(|line| !pending.contains(&line["id"]))
        .filter(|line| {
            let result = line.get("result").and_then(Value::as_str);
            result.is_some_and(|result| !matches!(result, "pass" | "unsupported"))
        })
        .collect();
    assert!(bad.is_empty(), "{} cases, such as {:?}", bad.len(), &bad[..bad.len().min(5)]);
}

#[test]
fn on_the_cpu_no_answer_is_wrong_and_as_many_pairs_pass_as_before() {
    let lines = run("cpu", 1);
    assert_nothing_is_wrong(&lines);
    let totals = lines.iter().find_map(|line| line.get("totals")).expect("the totals");
    let passed = totals["pairs_passed"].as_u64().expect("a number");
    let before = expected()["cpu"].as_u64().expect("a number");
    assert!(passed >= before, "{passed} pairs pass, {before} did; see tests/golden/README.md");
}

#[test]
fn a_share_of_the_cases_has_no_wrong_answer_on_the_software_driver() {
    assert_nothing_is_wrong(&run("software:1", 48));
}
