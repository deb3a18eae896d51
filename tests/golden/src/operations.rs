//! The page of operations: what the table has, and what of it passed the exam.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::adapter;
use crate::arguments::OperationsArguments;
use crate::folder::CaseFolder;

/// The dtypes in the order of the page.
const DTYPES: [&str; 10] = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"];

/// The cases of an operation in one dtype.
#[derive(Clone, Copy, Default)]
struct CaseCount {
    passed: usize,
    others: usize,
}

/// Everything that the exam says of an operation.
#[derive(Default)]
struct OperationFacts {
    /// By dtype, of all devices together.
    dtypes: BTreeMap<String, CaseCount>,
    has_gradient: bool,
}

/// Prints the page.
///
/// # Errors
/// A folder cannot be read, or the exam cannot be sat.
pub(crate) fn run(arguments: &OperationsArguments) -> Result<()> {
    let mut facts: BTreeMap<String, OperationFacts> = BTreeMap::new();
    for dir in &arguments.dirs {
        for device in &arguments.device {
            add(&mut facts, dir, device)?;
        }
    }
    print!("{}", page(&facts, &arguments.device));
    Ok(())
}

/// Sits the exam, and adds what came of it.
fn add(facts: &mut BTreeMap<String, OperationFacts>, dir: &Path, device: &str) -> Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("run").arg(dir).args(["--json", "--device", device]);
    let lines = String::from_utf8(command.output()?.stdout)?;
    let results = lines.lines().map(serde_json::from_str::<Value>);
    let mut passed = BTreeMap::new();
    for result in results {
        let result = result.context("a line of the exam")?;
        if let Some(id) = result["id"].as_u64() {
            passed.insert(id, result["result"] == "pass");
        }
    }
    for line in CaseFolder::open(dir)?.lines() {
        let case: Value = serde_json::from_str(line).context("a case")?;
        let (Some(op), Some(dtype)) = (case["op"].as_str(), case["dtype"].as_str()) else {
            continue;
        };
        let id = case["id"].as_u64().context("a case has a number")?;
        let own = facts.entry(op.to_owned()).or_default();
        let count = own.dtypes.entry(dtype.to_owned()).or_default();
        match passed.get(&id) {
            Some(true) => {
                count.passed += 1;
                own.has_gradient |= case["grads"].is_array() || case["param_grads"].is_object();
            }
            _ => count.others += 1,
        }
    }
    Ok(())
}

/// The page: a table for each of PyTorch's modules.
fn page(facts: &BTreeMap<String, OperationFacts>, devices: &[String]) -> String {
    let mut text = String::from(HEAD);
    text += &format!("Devices: {}.\n", devices.join(", "));
    let mut families: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in adapter::names() {
        families.entry(family(name)).or_default().insert(name);
    }
    for (family, names) in families {
        text +=
            &format!("\n## {family}\n\n| PyTorch's name | dtypes | gradient |\n|---|---|---|\n");
        for name in names {
            let (dtypes, gradient) = facts.get(name).map_or_else(Default::default, described);
            text += &format!("| `{name}` | {dtypes} | {gradient} |\n");
        }
    }
    text
}

/// The dtypes in which all cases passed, and in brackets those in which some did.
fn described(facts: &OperationFacts) -> (String, &'static str) {
    let own = |dtype: &&str| facts.dtypes.get(*dtype).is_some_and(|count| count.passed > 0);
    let text = |dtype: &str| match facts.dtypes[dtype].others {
        0 => dtype.to_owned(),
        _ => format!("({dtype})"),
    };
    let dtypes: Vec<String> = DTYPES.iter().filter(|dtype| own(dtype)).map(|&d| text(d)).collect();
    (dtypes.join(" "), if facts.has_gradient { "yes" } else { "" })
}

/// PyTorch's module that a name is in.
fn family(name: &str) -> &str {
    const FAMILIES: [&str; 5] = ["nn.functional", "linalg", "special", "fft", "signal.windows"];
    let found = FAMILIES
        .into_iter()
        .find(|family| name.strip_prefix(family).is_some_and(|rest| rest.starts_with('.')));
    found.unwrap_or(if name.starts_with("nn.") { "nn" } else { "torch" })
}

const HEAD: &str = "# Operations

Written by `cargo xtask operations DIR`, from the exam's table and from what passes of the cases in DIR \
(an export of [the exam](../tests/golden/README.md), which has every operation in every dtype that PyTorch has it in, on the CPU and on the software \
driver). A dtype is there if all cases in it pass, and in brackets if some do. A gradient is there if \
cases with gradients pass. An operation without dtypes is in the table, and the cases do not ask for it. Names that end in `_` work in place; names between underscores are Python's operators. \
Methods of `Tensor` are named like the last part of PyTorch's name; [From PyTorch](from-pytorch.md) says where \
they differ.

";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_name_of_the_table_and_no_other() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
        let text = std::fs::read_to_string(path).expect("the page is checked in");
        let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
        let page: BTreeSet<&str> = rows.filter_map(|row| Some(row.split_once('`')?.0)).collect();
        let table: BTreeSet<&str> = adapter::names().collect();
        let (lacks, has) = (table.difference(&page), page.difference(&table));
        let differs: Vec<_> = lacks.chain(has).collect();
        assert!(differs.is_empty(), "cargo xtask operations DIR: {differs:?}");
    }
}
