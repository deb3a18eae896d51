//! Reads what `cargo test` prints: how many tests there were, and what came of them.

use std::fmt;

/// Summed over test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u32,
    pub(crate) failed: u32,
    pub(crate) ignored: u32,
    /// Tests that ended without having tested anything, and said so: `test_support::skipped`.
    pub(crate) skipped: u32,
}

impl Counts {
    pub(crate) fn of(lines: &[String]) -> Counts {
        let results: Vec<_> = closing_lines(lines).collect();
        let sum = |kind| results.iter().filter_map(|line| count(line, kind)).sum();
        let is_skip = |line: &&String| line.starts_with("skipped: ");
        Counts {
            passed: sum("passed"),
            failed: sum("failed"),
            ignored: sum("ignored"),
            skipped: lines.iter().filter(is_skip).count() as u32,
        }
    }
}

/// The lines with which the test binaries end.
pub(crate) fn closing_lines(lines: &[String]) -> impl Iterator<Item = &str> {
    lines.iter().map(String::as_str).filter(|line| line.starts_with("test result: "))
}

/// 12 of `test result: ok. 12 passed; 0 failed; 0 ignored; …` for `passed`.
fn count(line: &str, kind: &str) -> Option<u32> {
    let (_, counts) = line.split_once(". ")?;
    let mut pairs = counts.split("; ").filter_map(|pair| pair.split_once(' '));
    let (number, _) = pairs.find(|(_, name)| *name == kind)?;
    number.parse().ok()
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "passed {} failed {}", self.passed, self.failed)?;
        for (name, count) in [("ignored", self.ignored), ("skipped", self.skipped)] {
            if count > 0 {
                write!(f, " {name} {count}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "running 3 tests\ntest a ... ok\nskipped: b: no GPU\n\
        test result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished \
        in 0.10s\nrunning 1 test\ntest result: ok. 1 passed; 0 failed; 4 ignored; 0 measured; 0 \
        filtered out; finished in 0.00s\n";

    #[test]
    fn results_are_summed_over_the_binaries() {
        let lines: Vec<_> = OUTPUT.lines().map(str::to_owned).collect();
        let counts = Counts::of(&lines);
        assert_eq!(counts, Counts { passed: 3, failed: 1, ignored: 4, skipped: 1 });
        assert_eq!(counts.to_string(), "passed 3 failed 1 ignored 4 skipped 1");
        assert_eq!(closing_lines(&lines).count(), 2);
    }
}
