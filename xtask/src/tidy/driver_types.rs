//! Only the runtime speaks to a driver: no crate above it names a type of the driver API.

use super::code::{code, words};
use super::finding::Finding;
use super::project::Project;

/// The crates that are, or speak to, a driver, each with its part in that.
const ALLOWED: [(&str, &str); 9] = [
    ("crates/cuda-sys/", "the driver API itself"),
    ("crates/cuda-check/", "checks of a driver"),
    ("crates/cuda-sim/", "a driver"),
    ("crates/libcuda/", "its other face"),
    ("crates/libnvidia-ml/", "asks a driver about its devices"),
    ("crates/libcudart/", "the runtime API, which is made of calls of a driver"),
    ("crates/gpu-runtime/", "the one crate of the floors that calls a driver"),
    ("crates/bench/", "measures calls of the driver beside those of the runtime"),
    ("tests/abi-client/", "a client of a driver"),
];

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in project.with_extension(&["rs"]) {
        if ALLOWED.iter().any(|(folder, _)| file.path.starts_with(folder)) {
            continue;
        }
        for (number, line) in (1..).zip(code(&file.text).lines()) {
            if let Some(word) = words(line).find(|word| is_of_the_driver(word)) {
                let what = format!("`{word}`: only gpu-runtime speaks to the driver; ask it");
                findings.push(file.finding(number, what));
            }
        }
    }
    findings
}

/// The crate itself, or a type: `CUstream`, but not `CUDA`.
fn is_of_the_driver(word: &str) -> bool {
    let is_type = word.strip_prefix("CU").is_some_and(|rest| rest.starts_with(char::is_lowercase));
    word == "cuda_sys" || is_type
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_the_driver_are_found_above_the_runtime() {
        let project = Project::of(&[
            ("crates/gpu-runtime/src/stream.rs", "use cuda_sys::CUstream;"),
            ("crates/tensor/src/cuda.rs", "//! About `CUstream`.\nuse cuda_sys::CUstream;"),
            ("crates/tensor/src/device.rs", "const NAME: &str = \"CUdevice\"; // CUDA"),
        ]);
        let found = project.found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/tensor/src/cuda.rs:2: `cuda_sys`"), "{found:?}");
    }
}
