//! Results of cases, and their totals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::folder::CaseHeader;

/// The result of a case in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CaseVerdict {
    Pass,
    Wrong,
    Unsupported,
    Error,
    Panic,
    Timeout,
}

/// The result of a case, as `--json` prints it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CaseResult {
    pub(crate) id: usize,
    #[serde(rename = "result")]
    pub(crate) verdict: CaseVerdict,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) detail: String,
    /// The bytes that the library keeps for backward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) saved: Option<u64>,
    /// Whether the second derivative is what differences of gradients say, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) second: Option<bool>,
}

impl CaseResult {
    /// The result of a case whose child panicked, ended or hung.
    pub(crate) fn lost(id: usize, verdict: CaseVerdict, detail: String) -> CaseResult {
        CaseResult { id, verdict, detail, saved: None, second: None }
    }
}

/// The numbers of the last line.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct ExamTotals {
    pub(crate) pairs_passed: usize,
    pairs: usize,
    cases: usize,
    passed: usize,
    wrong: usize,
    unsupported: usize,
    error: usize,
    panic: usize,
    timeout: usize,
    error_cases: usize,
    error_cases_passed: usize,
    saved_cases: usize,
    saved_over: usize,
}

/// Adds up the results of cases.
pub(crate) fn totals<'a>(
    results: impl Iterator<Item = (&'a CaseHeader, &'a CaseResult)>,
) -> ExamTotals {
    let mut totals = ExamTotals::default();
    let mut pairs: BTreeMap<_, bool> = BTreeMap::new();
    for (header, result) in results {
        let passed = result.verdict == CaseVerdict::Pass;
        match result.verdict {
            CaseVerdict::Panic => totals.panic += 1,
            CaseVerdict::Timeout => totals.timeout += 1,
            _ => {}
        }
        if header.error.is_some() {
            totals.error_cases += 1;
            totals.error_cases_passed += usize::from(passed);
            continue;
        }
        totals.cases += 1;
        match result.verdict {
            CaseVerdict::Pass => totals.passed += 1,
            CaseVerdict::Wrong => totals.wrong += 1,
            CaseVerdict::Unsupported => totals.unsupported += 1,
            CaseVerdict::Error => totals.error += 1,
            CaseVerdict::Panic | CaseVerdict::Timeout => {}
        }
        if let (true, Some(kept), Some(theirs)) = (passed, result.saved, header.saved_bytes) {
            totals.saved_cases += 1;
            totals.saved_over += usize::from(kept > theirs);
        }
        let pair = (&header.op, &header.variant, &header.dtype);
        *pairs.entry(pair).or_insert(true) &= passed;
    }
    totals.pairs = pairs.len();
    totals.pairs_passed = pairs.values().filter(|&&passed| passed).count();
    totals
}

/// The results of one operation.
#[derive(Default)]
struct OperationSummary<'a> {
    /// Cases by verdict.
    counts: [usize; 6],
    /// Cases that ask for an error, and those of them that are not passed.
    error_cases: [usize; 2],
    example: Option<(&'a CaseHeader, &'a CaseResult)>,
}

impl OperationSummary<'_> {
    fn bad(&self) -> usize {
        let [_, wrong, _, error, panic, timeout] = self.counts;
        wrong + error + panic + timeout
    }
}

/// A table by operation, the worst first, of those with a case that is neither passed nor
/// unsupported; and the names of those that are unsupported, with their cases.
pub(crate) fn table<'a>(
    results: impl Iterator<Item = (&'a CaseHeader, &'a CaseResult)>,
) -> (Vec<String>, Vec<(String, usize)>) {
    let mut operations: BTreeMap<&str, OperationSummary<'a>> = BTreeMap::new();
    for (header, result) in results {
        let summary = operations.entry(&header.op).or_default();
        summary.counts[result.verdict as usize] += 1;
        if header.error.is_some() {
            summary.error_cases[0] += 1;
            summary.error_cases[1] += usize::from(result.verdict != CaseVerdict::Pass);
        }
        let good = matches!(result.verdict, CaseVerdict::Pass | CaseVerdict::Unsupported);
        if !good && summary.example.is_none() {
            summary.example = Some((header, result));
        }
    }
    let mut bad: Vec<_> = operations.iter().filter(|(_, summary)| summary.bad() > 0).collect();
    bad.sort_by_key(|(_, summary)| std::cmp::Reverse(summary.bad()));
    let lines = bad.into_iter().map(|(name, summary)| line(name, summary)).collect();
    let unsupported = operations
        .iter()
        .filter(|(_, summary)| summary.counts[CaseVerdict::Unsupported as usize] > 0)
        .map(|(name, summary)| {
            ((*name).to_owned(), summary.counts[CaseVerdict::Unsupported as usize])
        });
    (lines, unsupported.collect())
}

fn line(name: &str, summary: &OperationSummary<'_>) -> String {
    let [pass, wrong, unsupported, error, panic, timeout] = summary.counts;
    let example = summary.example.map_or_else(String::new, |(header, result)| {
        let dtype = header.dtype.as_deref().unwrap_or("error");
        format!("{} {dtype} {}: {}", result.id, header.variant, result.detail)
    });
    let [error_cases, errors_missed] = summary.error_cases;
    format!(
        "{name:28} {pass:6} {wrong:6} {error:6} {panic:6} {timeout:8} {unsupported:12} {:>8}  {example}",
        format!("{}/{error_cases}", error_cases - errors_missed)
    )
}

/// The names of the table's columns.
pub(crate) fn heading() -> String {
    format!(
        "{:28} {:>6} {:>6} {:>6} {:>6} {:>8} {:>12} {:>8}  first",
        "operation", "pass", "wrong", "error", "panic", "timeout", "unsupported", "raises"
    )
}
