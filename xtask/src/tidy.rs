//! `cargo xtask tidy`: the rules of this repository that a program can check, all in one go.
//!
//! Each rule has a file of its own, which is a function from the project to what is wrong with it.

mod changelog;
mod clauses;
mod code;
mod decisions;
mod driver_types;
mod endings;
mod finding;
mod floors;
mod headers;
mod launches;
mod lengths;
mod licences;
mod links;
mod machines;
mod map;
mod markers;
mod members;
mod metadata;
mod misuse;
mod project;
mod soundness;
mod unsafe_code;

use anyhow::{Result, ensure};

use self::finding::Finding;
use self::project::Project;

/// Looks at the project and says what is wrong with it, by one rule.
type Check = fn(&Project) -> Vec<Finding>;

const CHECKS: [Check; 18] = [
    changelog::check,
    clauses::check,
    decisions::check,
    driver_types::check,
    endings::check,
    floors::check,
    headers::check,
    launches::check,
    lengths::check,
    licences::check,
    links::check,
    machines::check,
    map::check,
    markers::check,
    members::check,
    misuse::check,
    soundness::check,
    unsafe_code::check,
];

/// Prints all findings in the order of the files.
///
/// # Errors
/// If there is any, or if the project cannot be read.
pub(crate) fn run() -> Result<()> {
    let project = Project::read()?;
    let mut findings: Vec<_> = CHECKS.iter().flat_map(|check| check(&project)).collect();
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "findings: {}", findings.len());
    Ok(())
}
