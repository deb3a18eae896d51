//! `unsafe` is in few places, and crates without any forbid it.

use super::code::{code, words};
use super::finding::Finding;
use super::project::Project;

/// The files and folders that may have `unsafe` code, each with the reason.
const ALLOWED: &[(&str, &str)] = &[
    ("crates/bench/", "it measures bare calls of a driver"),
    ("crates/cpu-kernels/", "kernels work on addresses; its pool lends borrowed work to threads"),
    ("crates/cuda-sys/", "the driver API is a C API"),
    ("crates/cuda-check/src/console.rs", "it writes to a file that the process has open"),
    ("crates/cuda-check/src/silent.rs", "it looks at memory that a thread is about to write"),
    ("crates/cuda-sim/", "it is a driver: the C API, memory of devices"),
    ("crates/ptx-jit/", "it generates code and calls it"),
    ("crates/libcuda/", "it exports the C API"),
    ("crates/libnvidia-ml/", "it exports a C API, over the driver's"),
    ("crates/libcudart/", "the runtime API is a C API, over the driver's"),
    ("crates/gpu-runtime/", "it calls the driver"),
    ("crates/expression/tests/", "they launch printed kernels"),
    ("crates/gpu-alloc/tests/", "they fill and read memory that the crate only hands out"),
    ("crates/parallel/tests/allocations/", "an allocator that counts"),
    ("crates/mpi-communicator/src/elements.rs", "messages outlive the call that sends elements"),
    ("crates/mpi-communicator/src/link.rs", "MPI is a C library"),
    ("crates/serialization/src/mapping.rs", "it maps files, which others could write"),
    ("crates/tensor/src/dispatch/", "it hands addresses of operands to kernels"),
    ("crates/tensor/src/host/", "the CPU's kernels"),
    ("crates/sluice/examples/own_kernel/main.rs", "it launches a kernel of its own"),
    ("crates/tensor/tests/it/autograd/functions.rs", "they launch kernels of their own"),
    ("crates/tensor/src/access/exclusive.rs", "it fills memory that nobody else knows"),
    ("crates/tensor/src/access/guard.rs", "bytes become elements"),
    ("crates/tensor/src/shared/", "it hands out memory, and owns values by their addresses"),
    ("crates/tensor/src/storage/", "it owns memory by its address"),
    ("crates/tensor/src/thread_pool.rs", "it lends borrowed work to threads that outlive it"),
    ("crates/tensor/src/tensor/history/node.rs", "a function is known by its signature only"),
    ("tests/abi-client/", "a client of the C API"),
    ("tests/interleavings/src/handles.rs", "it has a handle on a function, as a node has"),
    ("tests/interleavings/src/offers.rs", "it takes borrowed work as the pool's threads do"),
    ("tests/semantics/tests/it/many_devices.rs", "it launches a kernel of its own"),
    ("tests/side-by-side/candle/", "candle maps files so"),
    ("tests/races/", "the host touches memory while it is copied"),
];

/// The roots of the crates that have none, so that the compiler refuses it there.
const FORBIDDING: [&str; 8] = [
    "crates/collectives/src/lib.rs",
    "crates/gpu-alloc/src/lib.rs",
    "crates/nn-derive/src/lib.rs",
    "crates/nn/src/lib.rs",
    "crates/parallel/src/lib.rs",
    "crates/pickle/src/lib.rs",
    "tests/support/src/lib.rs",
    "xtask/src/main.rs",
];

const FORBID: &str = "#![forbid(unsafe_code)]";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let mut findings = Vec::new();
    for root in FORBIDDING {
        let file = project.file(root);
        if !file.is_some_and(|file| file.text.lines().any(|line| line == FORBID)) {
            findings.push(Finding::new(root, 1, format!("add `{FORBID}`: this crate needs none")));
        }
    }
    for file in project.with_extension(&["rs"]) {
        if ALLOWED.iter().any(|(place, _)| file.path.starts_with(place)) {
            continue;
        }
        for (number, line) in (1..).zip(code(&file.text).lines()) {
            if words(line).any(|word| word == "unsafe") {
                let what = format!("no `unsafe` here: the places for it are listed in {}", file!());
                findings.push(file.finding(number, what));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_does_not_forbid_it_is_found() {
        let mut files = FORBIDDING.map(|root| (root, "//! A crate.\n#![forbid(unsafe_code)]\n"));
        assert_eq!(Project::of(&files).found(check), [""; 0]);
        files[1].1 = "//! A crate.\n// #![forbid(unsafe_code)]\n";
        let found = Project::of(&files).found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(FORBIDDING[1]), "{found:?}");
    }

    #[test]
    fn unsafe_code_outside_its_places_is_found() {
        let root = FORBIDDING.map(|root| (root, "//! A crate.\n#![forbid(unsafe_code)]\n"));
        let text = "//! Nothing unsafe.\nfn f() { unsafe { g() } }";
        let more = [("crates/tensor/src/shape.rs", text), ("crates/tensor/src/host/f.rs", text)];
        let found = Project::of(&[&root[..], &more[..]].concat()).found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/tensor/src/shape.rs:2:"), "{found:?}");
    }
}
