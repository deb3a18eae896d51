//! The program as it is called: its lines, and its errors.

use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn each_line_is_a_json_object_with_the_five_keys_of_the_other_libraries() {
    let lines = lines("--filter dispatch/ --samples 2 --threads 1 --peer ours");
    let cases: Vec<_> = lines.iter().map(|line| line["case"].as_str().expect("a name")).collect();
    let expected = [
        "add8",
        "empty_1024B",
        "zeros_1024B",
        "transpose",
        "narrow",
        "add8_recorded",
        "chain10_fwdbwd",
    ];
    assert_eq!(cases, expected.map(|case| format!("dispatch/{case}")));
    for line in &lines {
        let keys: Vec<_> = line.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["case", "metric", "peer", "spread", "value"]);
        assert_eq!((line["peer"].as_str(), line["metric"].as_str()), (Some("ours"), Some("ns")));
        assert!(line["value"].as_f64().expect("a number") > 0.0, "{line}");
        assert!(line["spread"].as_f64().expect("a number") >= 0.0, "{line}");
    }
}

#[test]
fn tensors_can_be_on_software_gpus() {
    let lines = lines("--filter dispatch/empty,alloc/cached_512B --samples 1 --device software:2");
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line["value"].is_number()), "{lines:?}");
}

#[test]
fn bad_input_ends_with_2_and_says_what_is_wrong() {
    for (arguments, said) in [
        ("--fast", "--fast"),
        ("--threads 0", "--threads"),
        ("--samples many", "many"),
        ("--device tpu", "cpu, cuda or software:N"),
        ("--filter conv/,no/such", "`no/such`"),
    ] {
        let output = run(arguments);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {error}");
        assert!(error.contains(said), "{arguments}: {error}");
    }
}

#[test]
fn without_a_driver_cuda_is_an_error_that_says_so() {
    let program = env!("CARGO_BIN_EXE_bench");
    let mut command = Command::new(program);
    command.args(["--device", "cuda", "--filter", "conv/"]);
    command.env("GPU_DRIVER", "software").env("CUDA_SIM_DEVICES", "0");
    let output = command.output().expect("the program can be run");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("--device cuda"), "{error}");
}

#[test]
fn a_step_in_virtual_time_hardly_depends_on_the_factor_by_which_all_is_smaller() {
    let step = |devices: usize, scale: usize| {
        let output = run(&format!(
            "scaling --only --profile layer --algorithm replicas --devices {devices} --scale {scale}"
        ));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.trim().parse::<f64>().expect("nanoseconds")
    };
    for devices in [1, 8] {
        let (small, full) = (step(devices, 256), step(devices, 1));
        let difference = (small - full).abs() / full;
        assert!(difference <= 0.01, "{devices} devices: {small} ns, {full} ns");
    }
}

#[test]
fn steps_on_several_devices_are_a_table_with_every_way_that_is_asked_for() {
    let output = run("scaling --profile layer --devices 1,2");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| layer")).collect();
    assert_eq!(rows.len(), 8, "{text}");
    for way in ["replicas", "distributed", "data-parallel", "data-parallel-star"] {
        let of_way = rows.iter().filter(|row| row.contains(&format!("| {way} |")));
        assert_eq!(of_way.count(), 2, "{text}");
    }
}

#[test]
fn a_step_on_several_devices_is_drawn() {
    let output = run("scaling --picture --profile layer --devices 2");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
    assert!(text.contains("device 1") && text.contains("sums of gradients"), "{text}");
}

/// The lines that the program prints.
fn lines(arguments: &str) -> Vec<Value> {
    let output = run(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("JSON is text");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

fn run(arguments: &str) -> Output {
    let program = env!("CARGO_BIN_EXE_bench");
    let mut command = Command::new(program);
    // The software driver as it is by itself, whatever the tests' own environment asks for.
    command
        .args(arguments.split_whitespace())
        .env_remove("GPU_DRIVER")
        .env_remove("CUDA_SIM_DEVICES");
    command.output().expect("the program can be run")
}
