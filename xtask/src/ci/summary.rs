//! The end of `cargo xtask ci`: what ran, how long, and what came of it.

use super::StepOutcome;

pub(super) fn print(outcomes: &[StepOutcome]) {
    println!("\n== summary");
    for line in outcomes.iter().flat_map(|outcome| &outcome.report.closing_lines) {
        println!("{line}");
    }
    println!();
    for outcome in outcomes {
        println!("{}", row(outcome));
    }
    let total: f64 = outcomes.iter().map(|outcome| outcome.time.as_secs_f64()).sum();
    println!("{:>8.1} s in all", total);
}

fn row(outcome: &StepOutcome) -> String {
    let verdict = if outcome.result.is_ok() { "ok" } else { "FAILED" };
    let seconds = outcome.time.as_secs_f64();
    let row =
        format!("{seconds:>8.1} s  {verdict:<6}  {:<36}{}", outcome.name, outcome.report.note);
    row.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::StepReport;
    use super::*;

    #[test]
    fn a_row_has_the_time_the_verdict_and_the_note() {
        let report = StepReport { note: "passed 3 failed 1".into(), closing_lines: Vec::new() };
        let result = Err(anyhow::anyhow!("it failed"));
        let outcome =
            StepOutcome { name: "tests", time: Duration::from_millis(1500), report, result };
        let expected = format!("     1.5 s  FAILED  {:<36}passed 3 failed 1", "tests");
        assert_eq!(row(&outcome), expected);
    }
}
