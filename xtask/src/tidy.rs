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
mod not_yet;
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

/// Each with its name.
const CHECKS: [(&str, Check); 26] = [
    ("changelog", changelog::check),
    ("clauses", clauses::check),
    ("constants", constants::check),
    ("cycles", cycles::check),
    ("decisions", decisions::check),
    ("doc_beginnings", doc_beginnings::check),
    ("driver_types", driver_types::check),
    ("endings", endings::check),
    ("environment", environment::check),
    ("floors", floors::check),
    ("headers", headers::check),
    ("launches", launches::check),
    ("layers", layers::check),
    ("lengths", lengths::check),
    ("licences", licences::check),
    ("links", links::check),
    ("machines", machines::check),
    ("map", map::check),
    ("markers", markers::check),
    ("members", members::check),
    ("misuse", misuse::check),
    ("reasons", reasons::check),
    ("soundness", soundness::check),
    ("type_names", type_names::check),
    ("unsafe_code", unsafe_code::check),
    ("walks", walks::check),
];

/// The rules to keep.
#[derive(Default, clap::Args)]
pub(crate) struct Arguments {
    /// Also print what parts of the repository are allowed not to keep yet.
    #[arg(long)]
    all: bool,
}

/// Prints all findings in the order of the files.
///
/// # Errors
/// If there is any, or if the project cannot be read.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let project = Project::read()?;
    let mut findings = Vec::new();
    for (rule, check) in CHECKS {
        let found = check(&project);
        findings.extend(if arguments.all { found } else { not_yet::without(rule, found) });
    }
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    ensure!(findings.is_empty(), "findings: {}", findings.len());
    Ok(())
}
