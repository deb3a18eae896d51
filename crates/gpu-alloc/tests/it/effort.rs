//! How much is tried. Miri takes ten thousand times as long for each step, and runs a test once for
//! each of several seeds; so there it is a little of everything.

use std::ops::Range;

use proptest::test_runner::Config;

/// A number of random cases. What fails is not written to a file, as Miri has none.
pub(crate) fn cases(number: u32) -> Config {
    let cases = if cfg!(miri) { 1 } else { number };
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// The lengths of programs: one step, up to so many.
pub(crate) fn steps(most: usize) -> Range<usize> {
    1..if cfg!(miri) { most.min(10) } else { most }
}
