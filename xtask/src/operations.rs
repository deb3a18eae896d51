//! Writes docs/operations.md from what passes of an exam.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::{paths, process};

/// The page.
pub(crate) const PAGE: &str = "docs/operations.md";

/// The dtypes in the order of the page.
const DTYPES: [&str; 10] = ["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool"];

/// Sets of dtypes that have a word, the largest first.
const WORDS: [(&str, &[&str]); 4] = [
    ("all", &DTYPES),
    ("numbers", &["f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8"]),
    ("integers", &["i64", "i32", "i16", "i8", "u8"]),
    ("floats", &["f64", "f32", "f16", "bf16"]),
];

/// PyTorch's modules, each of which has a table.
const FAMILIES: [&str; 6] = ["nn.functional", "nn", "linalg", "special", "fft", "signal.windows"];

const HEAD: &str = "# Operations

Written by `cargo xtask operations DIR..` from [the exam](../tests/golden/README.md): its table has PyTorch's names, and cases that PyTorch answered, in every dtype that PyTorch has \
an operation in, say what of it is there.

| column | says |
|---|---|
| PyTorch | the name in `torch`, or else in `torch.Tensor`; of a heading, in that module. A name that ends in `_` works in place, one between underscores is Python's operator. Ours is the same, as a method of `Tensor` or a type of `nn`, but for those that [From PyTorch](from-pytorch.md) lists |
| CPU, CUDA | the dtypes in which all cases pass, in brackets those in which some do: `all` ten, `numbers` (all but `bool`), `floats`, `integers`. CUDA is the software driver. `-`: none. Nothing: the exam has no cases |
| gradients | how often it can be differentiated: 1 if cases with gradients pass, 2 if their second derivatives in `f64` are what differences of gradients say, too; in brackets if in some cases only. Nothing: no case asks |
";

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The folders of cases, of operations and of modules: an export with `--cap 2` has every pair.
    #[arg(required_unless_present = "facts")]
    dirs: Vec<PathBuf>,
    /// The lines that `golden operations` printed before, in place of running it.
    #[arg(long, conflicts_with = "dirs")]
    facts: Option<PathBuf>,
}

/// Runs the exam unless its lines are there, and writes the page.
///
/// # Errors
/// The exam cannot be built or sat, the sources cannot be read, or the page cannot be written.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let lines = match &arguments.facts {
        Some(path) => fs::read_to_string(path),
        None => Ok(sit(&arguments.dirs)?),
    };
    let lines = lines.context("cannot read what golden printed")?;
    let facts: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).context("a line of golden"))
        .collect::<Result<_>>()?;
    let path = paths::root().join(PAGE);
    fs::write(&path, page(&facts)).with_context(|| format!("cannot write {}", path.display()))
}

/// The lines that golden prints of the cases in folders.
fn sit(dirs: &[PathBuf]) -> Result<String> {
    let mut cargo =
        process::cargo(&["run", "--release", "--quiet", "--package", "golden", "--", "operations"]);
    for dir in dirs {
        // cargo runs in the repository's root.
        cargo.arg(std::path::absolute(dir)?);
    }
    process::output(&mut cargo)
}

/// The page: a table for each of PyTorch's modules.
fn page(facts: &[Value]) -> String {
    let mut text = HEAD.to_owned();
    for family in [""].iter().chain(&FAMILIES) {
        let own = |fact: &&Value| self::family(name(fact)) == *family;
        let rows: Vec<&Value> = facts.iter().filter(own).collect();
        if rows.is_empty() {
            continue;
        }
        let heading = if family.is_empty() { "torch" } else { family };
        text +=
            &format!("\n## {heading}\n\n| PyTorch | CPU | CUDA | gradients |\n|---|---|---|---|\n");
        for fact in rows {
            text += &row(fact);
        }
    }
    text
}

fn name(fact: &Value) -> &str {
    fact["name"].as_str().unwrap_or_default()
}

/// The module of PyTorch that a name is in; empty for `torch` itself.
fn family(name: &str) -> &str {
    let is_in =
        |family: &&&str| name.strip_prefix(**family).is_some_and(|rest| rest.starts_with('.'));
    FAMILIES.iter().find(is_in).copied().unwrap_or_default()
}

fn row(fact: &Value) -> String {
    let name = name(fact);
    let facts = &fact["facts"];
    let (cpu, cuda) = (dtypes(&facts["counts"]["cpu"]), dtypes(&facts["counts"]["cuda"]));
    let gradients = gradients(&facts["gradients"], &facts["seconds"]);
    format!("| `{name}` | {cpu} | {cuda} | {gradients} |\n")
}

/// The dtypes in which cases pass, those in brackets in which others do not.
fn dtypes(counts: &Value) -> String {
    let count = |dtype: &str, which: &str| counts[dtype][which].as_u64().unwrap_or_default();
    if counts.as_object().is_none_or(serde_json::Map::is_empty) {
        return String::new();
    }
    let (mut whole, mut partly) = (Vec::new(), Vec::new());
    for dtype in DTYPES.into_iter().filter(|dtype| count(dtype, "passed") > 0) {
        match count(dtype, "others") {
            0 => whole.push(dtype),
            _ => partly.push(dtype),
        }
    }
    let (whole, partly) = (in_words(whole), in_words(partly));
    match (whole.is_empty(), partly.is_empty()) {
        (true, true) => "-".to_owned(),
        (_, true) => whole,
        (true, false) => format!("({partly})"),
        (false, false) => format!("{whole} ({partly})"),
    }
}

/// Dtypes, with words for those that are there together.
fn in_words(mut dtypes: Vec<&str>) -> String {
    let mut words = Vec::new();
    for (word, set) in WORDS {
        if set.iter().all(|dtype| dtypes.contains(dtype)) {
            words.push(word);
            dtypes.retain(|dtype| !set.contains(dtype));
        }
    }
    words.extend(dtypes);
    words.join(" ")
}

fn gradients(firsts: &Value, seconds: &Value) -> String {
    let count = |count: &Value, which: &str| count[which].as_u64().unwrap_or_default();
    let in_brackets = |order: u8, others: u64| match others {
        0 => order.to_string(),
        _ => format!("({order})"),
    };
    match (count(firsts, "passed"), count(seconds, "passed")) {
        (0, _) if count(firsts, "others") == 0 => String::new(),
        (0, _) => "-".to_owned(),
        (_, 0) => in_brackets(1, count(firsts, "others")),
        _ => in_brackets(2, count(seconds, "others")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_says_which_dtypes_pass_wholly_and_which_partly() {
        let passed = json!({ "passed": 2, "others": 0 });
        let half = json!({ "passed": 1, "others": 1 });
        let floats =
            json!({ "f64": passed, "f32": passed, "f16": passed, "bf16": passed, "u8": half });
        let counts = json!({ "cpu": floats, "cuda": { "f32": { "passed": 0, "others": 2 } } });
        let facts = json!({ "counts": counts, "gradients": passed, "seconds": half });
        let found = row(&json!({ "name": "add", "facts": facts }));
        assert_eq!(found, "| `add` | floats (u8) | - | (2) |\n");
    }

    #[test]
    fn a_name_without_cases_has_a_row_all_the_same() {
        let page = page(&[json!({ "name": "linalg.qr", "facts": {} })]);
        assert!(page.contains("\n## linalg\n"), "{page}");
        assert!(page.ends_with("| `linalg.qr` |  |  |  |\n"), "{page}");
    }
}
