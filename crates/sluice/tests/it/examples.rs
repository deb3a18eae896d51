//! Each example runs to its end, and finds what it is about. `cargo test` has built them with the
//! tests; with `--test it` it does not.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// Runs an example with arguments, on a machine without NVIDIA's driver as on one with it, and gives
/// what it printed.
fn run(example: &str, arguments: &[&str]) -> String {
    let mut program: PathBuf = env::current_exe().expect("the test's own file");
    program.pop();
    program.pop();
    program.extend(["examples", example]);
    let output = Command::new(&program)
        .args(arguments)
        .env_remove("GPU_DRIVER")
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{example}: {printed}{errors}");
    printed.into_owned()
}

#[test]
fn a_device_agnostic_program_runs_with_and_without_cuda() {
    assert!(run("device_agnostic", &["--disable-cuda"]).starts_with("on cpu"));
    assert!(run("device_agnostic", &[]).contains("y = "));
}

#[test]
fn a_data_set_of_ones_own_is_read_by_workers() {
    assert!(run("own_dataset", &[]).contains("epoch 60"));
}

#[test]
fn two_gpus_share_a_program() {
    let printed = run("two_gpus", &[]);
    assert!(printed.contains("`self` is on cuda:0, `other` on cuda:1"), "{printed}");
}

#[test]
fn out_of_memory_is_survived() {
    let printed = run("out_of_memory", &[]);
    assert!(printed.contains("it would do to release"), "{printed}");
    assert!(printed.contains("step 5"), "{printed}");
}

#[test]
fn a_kernel_of_ones_own_runs_on_tensors_with_its_gradient() {
    assert!(run("own_kernel", &[]).contains("dx = tensor("));
}
