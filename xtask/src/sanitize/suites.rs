//! What the sanitizers watch, and what they are to say nothing of.

/// The packages whose tests run, lowest first.
pub(super) const SUITES: [&str; 8] =
    ["cpu-kernels", "gpu-runtime", "gpu-alloc", "tensor", "nn", "parallel", "semantics", "races"];

pub(super) fn packages() -> [&'static str; SUITES.len()] {
    SUITES
}

/// Leaks that are none: suppressions of the leak sanitizer.
pub(super) const LEAKS: &str = "";

/// Races that are none: suppressions of the thread sanitizer.
pub(super) const RACES: &str = "\
# Generated code is not instrumented, so the sanitizer does not see what puts its accesses in order;
# what kernels do to the memory of devices is for CUDA_SIM_CHECK to judge.
called_from_lib:jit
";
