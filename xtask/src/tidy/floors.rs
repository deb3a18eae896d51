//! Imports go down: each crate depends only on crates of lower floors.
//!
//! The rule is the same for dependencies, build-dependencies and dev-dependencies, optional or not:
//! an example or a test that needs a higher floor belongs to the higher floor.

use super::finding::Finding;
use super::metadata::{Dependency, Package};
use super::project::Project;

/// Lowest first. Crates on one floor do not import each other.
const FLOORS: [&[&str]; 13] = [
    &["cuda-sys", "nn-derive", "pickle", "ptx"],
    &["ptx-jit"],
    &["cuda-check"],
    &["cuda-sim", "kernels"],
    &["gpu-runtime"],
    &["expression", "gpu-alloc"],
    &["cpu-kernels"],
    &["tensor"],
    &["collectives", "serialization"],
    &["nn"],
    &["parallel"],
    &["sluice"],
    &["mpi-communicator"],
];

/// It stands beside the floors, as the software driver's other face, and is imported by none.
const LIBCUDA: &str = "libcuda";
const LIBCUDA_IMPORTS: [&str; 2] = ["cuda-sim", "cuda-sys"];

/// They stand beside the floors too: programs have them above any driver. The first has libraries of
/// its own that export it.
const RUNTIME_API: &str = "libcudart";
const MANAGEMENT: &str = "libnvidia-ml";
const ABOVE_ANY_DRIVER_IMPORTS: [&str; 1] = ["cuda-sys"];
const RUNTIME_LIBRARIES: [&str; 2] = ["libcudart-12", "libcudart-13"];

/// They may import all of the above and are imported by none; the packages in tests/ are such too.
const ROOF: [&str; 2] = ["bench", "xtask"];

/// It imports nothing of ours, and each may have it as a dev-dependency.
const SUPPORT: &str = "test-support";

/// It reads sources and imports nothing of ours; what is above all floors may have it.
const SURFACE: &str = "surface";

pub(super) fn check(project: &Project) -> Vec<Finding> {
    let ours: Vec<_> = project.members().map(|package| package.name.as_str()).collect();
    let mut findings = Vec::new();
    for package in project.members() {
        if !is_placed(package) {
            let what = format!("`{}` has no floor: give it one in {}", package.name, file!());
            findings.push(Finding::new(&package.manifest, 1, what));
        }
        for dependency in &package.dependencies {
            if ours.contains(&dependency.name.as_str()) && !is_allowed(package, dependency) {
                let what = format!(
                    "`{}` must not depend on `{}`: imports go down the floors only",
                    package.name, dependency.name
                );
                findings.push(project.finding(&package.manifest, &dependency.name, what));
            }
        }
    }
    findings
}

fn is_allowed(package: &Package, dependency: &Dependency) -> bool {
    if dependency.name == SUPPORT {
        return package.name != SUPPORT && (dependency.is_dev || is_roof(package));
    }
    if dependency.name == RUNTIME_API {
        return RUNTIME_LIBRARIES.contains(&package.name.as_str());
    }
    if dependency.name == SURFACE {
        return is_roof(package);
    }
    let Some(below) = floor(&dependency.name) else {
        return false;
    };
    match floor(&package.name) {
        Some(here) => below < here,
        None if package.name == LIBCUDA => LIBCUDA_IMPORTS.contains(&dependency.name.as_str()),
        None if [RUNTIME_API, MANAGEMENT].contains(&package.name.as_str()) => {
            ABOVE_ANY_DRIVER_IMPORTS.contains(&dependency.name.as_str())
        }
        None => is_roof(package),
    }
}

fn is_placed(package: &Package) -> bool {
    let name = package.name.as_str();
    let beside = [LIBCUDA, RUNTIME_API, MANAGEMENT, SUPPORT, SURFACE].contains(&name);
    floor(name).is_some() || is_roof(package) || beside || RUNTIME_LIBRARIES.contains(&name)
}

fn is_roof(package: &Package) -> bool {
    let is_shared = [SUPPORT, SURFACE].contains(&package.name.as_str());
    let is_test = package.manifest.starts_with("tests/") && !is_shared;
    is_test || ROOF.contains(&package.name.as_str())
}

fn floor(name: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packages: &[&str]) -> Vec<String> {
        let packages = packages.iter().map(|text| Package::member(text)).collect();
        Project { packages, ..Project::of(&[]) }.found(check)
    }

    #[test]
    fn imports_may_go_down() {
        let packages = [
            "cuda-sys",
            "ptx",
            "cuda-sim: cuda-sys ptx libc (dev) test-support",
            "gpu-runtime: cuda-sys cuda-sim (dev) kernels test-support",
            "tensor: gpu-runtime kernels",
            "kernels",
            "libcuda: cuda-sim cuda-sys",
            "bench: tensor cuda-sim test-support",
            "test-support: libc",
            "surface: syn",
            "xtask: surface",
        ];
        assert_eq!(found(&packages), [""; 0]);
    }

    #[test]
    fn imports_up_or_along_a_floor_are_found() {
        for (package, dependency) in [
            ("gpu-runtime: tensor", "tensor"),
            ("gpu-runtime: (dev) tensor", "tensor"),
            ("cuda-sim: kernels", "kernels"),
            ("libcuda: gpu-runtime", "gpu-runtime"),
            ("parallel: bench", "bench"),
            ("parallel: test-support", "test-support"),
            ("test-support: tensor", "tensor"),
            ("surface: tensor", "tensor"),
            ("tensor: surface", "surface"),
            ("tensor: libcuda", "libcuda"),
        ] {
            let found = found(&[package, dependency]);
            assert_eq!(found.len(), 1, "{package}: {found:?}");
            assert!(found[0].contains(&format!("on `{dependency}`")), "{found:?}");
        }
    }

    #[test]
    fn a_crate_without_a_floor_is_found() {
        assert!(found(&["attic"])[0].contains("`attic` has no floor"));
    }
}
