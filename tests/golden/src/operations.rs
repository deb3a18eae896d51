//! What there is: for each name of the table, what passed of an exam.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::adapter;
use crate::arguments::{OperationsArguments, RunArguments};
use crate::folder::{CaseFolder, CaseHeader};
use crate::parent;
use crate::report::{CaseResult, CaseVerdict};

/// The devices, and what `--device` calls them.
const DEVICES: [(&str, &str); 2] = [("cpu", "cpu"), ("cuda", "software:1")];

/// The cases of an operation in one dtype on one device.
#[derive(Clone, Copy, Default, Serialize)]
struct CaseCount {
    passed: usize,
    others: usize,
}

/// Everything that the exam says of an operation.
#[derive(Default, Serialize)]
struct OperationFacts {
    /// By device, and there by dtype.
    counts: BTreeMap<&'static str, BTreeMap<String, CaseCount>>,
    /// Cases with gradients, on the CPU.
    gradients: CaseCount,
    /// Cases whose second derivative could be compared with differences of gradients.
    seconds: CaseCount,
}

impl CaseCount {
    fn add(&mut self, passed: bool) {
        if passed {
            self.passed += 1;
        } else {
            self.others += 1;
        }
    }
}

/// The part of a case that says whether gradients are asked for: of an operation, of a module.
#[derive(Deserialize)]
struct AskedGradients {
    grads: Option<serde::de::IgnoredAny>,
    param_grads: Option<serde::de::IgnoredAny>,
}

/// Prints a line for each name of the table, in their order.
///
/// # Errors
/// A folder cannot be read, or the exam cannot be sat.
pub(crate) fn run(arguments: &OperationsArguments) -> Result<()> {
    let mut facts: BTreeMap<String, OperationFacts> = BTreeMap::new();
    for dir in &arguments.dirs {
        for (device, name) in DEVICES {
            add(&mut facts, dir, (device, name), arguments.jobs)?;
        }
    }
    for name in names() {
        let own = facts.remove(name).unwrap_or_default();
        println!("{}", serde_json::json!({ "name": name, "facts": own }));
    }
    Ok(())
}

/// The names of the table in their order, but for those that only steps of programs have: they say a
/// second time what another name says.
fn names() -> Vec<&'static str> {
    let mut names: Vec<_> = adapter::names().filter(|name| !name.starts_with("torch.")).collect();
    names.sort_unstable();
    names
}

/// Sits the exam of a folder on a device, and adds what came of it.
fn add(
    facts: &mut BTreeMap<String, OperationFacts>,
    dir: &Path,
    (device, name): (&'static str, &str),
    jobs: usize,
) -> Result<()> {
    let folder = CaseFolder::open(dir)?;
    let headers: Vec<CaseHeader> = folder
        .lines()
        .map(|line| serde_json::from_str(line).context("a case"))
        .collect::<Result<_>>()?;
    let exam = RunArguments {
        dir: dir.to_owned(),
        device: name.to_owned(),
        json: true,
        every: 1,
        second: device == "cpu",
        jobs,
        threads: 1,
        from: None,
        count: 0,
    };
    let results = parent::sit_all(&exam, &headers)?;
    for ((header, result), line) in headers.iter().zip(&results).zip(folder.lines()) {
        let asked: AskedGradients = serde_json::from_str(line).context("a case")?;
        let has_gradients = asked.grads.is_some() || asked.param_grads.is_some();
        let own = facts.entry(header.op.clone()).or_default();
        own.add(device, header, result, has_gradients);
    }
    Ok(())
}

impl OperationFacts {
    fn add(
        &mut self,
        device: &'static str,
        header: &CaseHeader,
        result: &CaseResult,
        has_gradients: bool,
    ) {
        let (Some(dtype), None) = (&header.dtype, &header.error) else { return };
        let passed = result.verdict == CaseVerdict::Pass;
        self.counts.entry(device).or_default().entry(dtype.clone()).or_default().add(passed);
        if device == "cpu" && has_gradients {
            self.gradients.add(passed);
        }
        if let Some(holds) = result.second {
            self.seconds.add(holds);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_page_has_every_name_of_the_table_and_no_other() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
        let text = std::fs::read_to_string(path).expect("the page is checked in");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
        let page: BTreeSet<&str> = rows.filter_map(|row| Some(row.split_once('`')?.0)).collect();
        let table: BTreeSet<&str> = names().into_iter().collect();
        let (lacks, has) = (table.difference(&page), page.difference(&table));
        let differs: Vec<_> = lacks.chain(has).collect();
        assert!(differs.is_empty(), "cargo xtask operations DIR: {differs:?}");
    }
}
