//! `cargo xtask tidy`: the rules of this repository that a program can check, all in one go.
//!
//! Each rule has a file of its own, which is a function from the project to what is wrong with it.

mod changelog;
mod clauses;
mod code;
mod constants;
mod crates;
mod cycles;
mod decisions;
mod doc_beginnings;
mod driver_types;
mod endings;
mod environment;
mod finding;
mod floors;
mod headers;
mod launches;
mod layers;
mod lengths;
mod licences;
mod links;
mod machines;
mod map;
mod markers;
mod members;
mod metadata;
mod misuse;
mod operations;
mod project;
mod reasons;
mod soundness;
mod type_names;
mod unsafe_code;
mod walks;

use anyhow::{Result, ensure};

use self::finding::Finding;
use self::project::Project;

/// Looks at the project and says what is wrong with it, by one rule.
type Check = fn(&Project) -> Vec<Finding>;

/// All rules, one for each file of this folder that has one.
const CHECKS: [Check; 27] = [
    changelog::check,
    clauses::check,
    constants::check,
    cycles::check,
    decisions::check,
    doc_beginnings::check,
    driver_types::check,
    endings::check,
    environment::check,
    floors::check,
    headers::check,
    launches::check,
    layers::check,
    lengths::check,
    licences::check,
    links::check,
    machines::check,
    map::check,
    markers::check,
    members::check,
    misuse::check,
    operations::check,
    reasons::check,
    soundness::check,
    type_names::check,
    unsafe_code::check,
    walks::check,
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
