//! Rules that parts of the repository do not keep yet. Temporary: lines only go.

/// The name of a rule, and the beginning of the paths that it is not applied to.
const NOT_YET: [(&str, &str); 30] = [
    ("constants", "crates/cuda-sim/"),
    ("constants", "crates/gpu-alloc/"),
    ("constants", "crates/ptx/"),
    ("constants", "crates/tensor/"),
    ("cycles", "crates/cuda-sim/"),
    ("cycles", "crates/gpu-alloc/"),
    ("cycles", "crates/gpu-runtime/"),
    ("cycles", "crates/ptx/"),
    ("cycles", "crates/tensor/"),
    ("layers", "crates/cuda-sim/"),
    ("layers", "crates/gpu-alloc/"),
    ("layers", "crates/gpu-runtime/"),
    ("layers", "crates/nn/"),
    ("layers", "crates/parallel/"),
    ("layers", "crates/ptx/"),
    ("layers", "crates/tensor/"),
    ("reasons", "crates/cuda-sim/"),
    ("reasons", "crates/cuda-sys/"),
    ("reasons", "crates/gpu-alloc/"),
    ("reasons", "crates/gpu-runtime/"),
    ("reasons", "crates/libcuda/"),
    ("reasons", "crates/tensor/"),
    ("type_names", "crates/cuda-sim/"),
    ("type_names", "crates/gpu-alloc/"),
    ("type_names", "crates/gpu-runtime/"),
    ("type_names", "crates/nn/"),
    ("type_names", "crates/parallel/"),
    ("type_names", "crates/ptx/"),
    ("type_names", "crates/tensor/"),
    ("walks", "docs/"),
];

/// Whether a finding of a rule in a file is left for later.
pub(super) fn covers(rule: &str, path: &str) -> bool {
    NOT_YET.iter().any(|(own, begin)| *own == rule && path.starts_with(begin))
}
