//! `tensor` launches kernels from one place.

use super::code::code;
use super::finding::Finding;
use super::project::Project;

const TENSOR: &str = "crates/tensor/src/";

const LAUNCH: &str = "crates/tensor/src/dispatch/cuda.rs";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let elsewhere = project
        .with_extension(&["rs"])
        .filter(|file| file.path.starts_with(TENSOR) && file.path != LAUNCH);
    let mut findings = Vec::new();
    for file in elsewhere {
        for (number, line) in (1..).zip(code(&file.text).lines()) {
            if line.contains(".launch(") {
                findings.push(file.finding(number, format!("launches are in {LAUNCH} only")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_elsewhere_is_found() {
        let launch = "//! A file.\nfunction.launch(&stream, config, arguments)?;";
        let project = Project::of(&[
            ("crates/tensor/src/dispatch/cuda.rs", launch),
            ("crates/tensor/src/ops/unary.rs", launch),
            ("crates/gpu-runtime/src/launch.rs", launch),
        ]);
        let found = project.found(check);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("crates/tensor/src/ops/unary.rs:2:"), "{found:?}");
    }
}
