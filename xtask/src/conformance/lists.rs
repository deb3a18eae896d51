//! The lists of tests from which something else than success is expected.

use std::fs;

use anyhow::{Context, Result, ensure};

use crate::paths;

/// The expected result of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    /// It passes.
    Passes,
    /// It fails, whatever the driver does.
    Cannot,
    /// It depends on how fast what runs: either may be.
    Timing,
}

/// The lists of a package.
pub(super) struct Lists {
    entries: Vec<ListedTest>,
    /// The number of tests of a version that may be listed as impossible.
    max_cannot: usize,
}

struct ListedTest {
    verdict: Expectation,
    version: String,
    test: String,
}

impl Lists {
    /// Reads the lists of a package: those of these results.
    pub(super) fn read(
        package: &str,
        verdicts: &[Expectation],
        max_cannot: usize,
    ) -> Result<Lists> {
        let mut entries = Vec::new();
        for &verdict in verdicts {
            let name = match verdict {
                Expectation::Passes => continue,
                Expectation::Cannot => "cannot",
                Expectation::Timing => "timing",
            };
            let path = paths::root().join(format!("xtask/conformance/{package}-{name}.txt"));
            let text = fs::read_to_string(&path);
            let text = text.with_context(|| format!("cannot read {}", paths::relative(&path)))?;
            entries.extend(parse(&text, verdict)?);
        }
        Ok(Lists { entries, max_cannot })
    }

    /// The expected result of a test of a version.
    pub(super) fn verdict(&self, version: &str, test: &str) -> Expectation {
        let listed = self.of(version).find(|entry| entry.test == test);
        listed.map_or(Expectation::Passes, |entry| entry.verdict)
    }

    /// # Errors
    /// If tests are listed that do not exist, or too many that cannot pass.
    pub(super) fn check(&self, version: &str, tests: &[String]) -> Result<()> {
        for entry in self.of(version) {
            ensure!(tests.contains(&entry.test), "{version} has no test `{}`", entry.test);
        }
        let cannot = self.of(version).filter(|entry| entry.verdict == Expectation::Cannot).count();
        ensure!(
            cannot <= self.max_cannot,
            "{version}: {cannot} tests that cannot pass are too many"
        );
        Ok(())
    }

    fn of(&self, version: &str) -> impl Iterator<Item = &ListedTest> {
        self.entries.iter().filter(move |entry| entry.version == version)
    }
}

fn parse(text: &str, verdict: Expectation) -> Result<Vec<ListedTest>> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let entries = lines.map(|line| {
        let mut words = line.splitn(3, ' ');
        let (version, test, reason) = (words.next(), words.next(), words.next());
        let complete = version.zip(test).zip(reason);
        let ((version, test), _) = complete.with_context(|| format!("no reason: {line}"))?;
        Ok(ListedTest { verdict, version: version.into(), test: test.into() })
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists(text: &str) -> Lists {
        let entries = parse(text, Expectation::Cannot).expect("each line has a reason");
        Lists { entries, max_cannot: 3 }
    }

    #[test]
    fn each_entry_is_for_one_version() {
        let lists = lists("# comment\n\n1.0 a::b it must fail\n");
        assert_eq!(lists.verdict("1.0", "a::b"), Expectation::Cannot);
        assert_eq!(lists.verdict("1.1", "a::b"), Expectation::Passes);
        assert_eq!(lists.verdict("1.0", "a::c"), Expectation::Passes);
    }

    #[test]
    fn entries_without_a_reason_or_a_test_and_too_many_are_errors() {
        assert!(parse("1.0 a::b\n", Expectation::Timing).is_err());
        let tests = ["a", "b", "c", "d"].map(String::from);
        assert!(lists("1.0 a why\n1.0 b why\n1.0 c why\n").check("1.0", &tests).is_ok());
        assert!(lists("1.0 e why\n").check("1.0", &tests).is_err());
        let many = lists("1.0 a why\n1.0 b why\n1.0 c why\n1.0 d why\n");
        assert!(many.check("1.0", &tests).is_err());
    }
}
