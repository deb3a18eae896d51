//! The calls of the driver that tests have fail.

use std::env;

/// The calls of a function that are to fail in turn, of so many that a program makes of it: the first
/// three, and each tenth; every one where `DRIVER_FAULTS` is `all`.
pub fn calls_to_fail(count: u64) -> impl Iterator<Item = u64> {
    let all = env::var_os("DRIVER_FAULTS").is_some_and(|value| value == "all");
    (1..=count).filter(move |&nth| all || nth <= 3 || nth % 10 == 0)
}
