//! Times that follow from a rate.

/// The nanoseconds that `amount` takes where so many are done in a second, rounded up.
pub(super) fn per_second(amount: u64, rate: u64) -> u64 {
    let nanoseconds = u128::from(amount) * 1_000_000_000;
    u64::try_from(nanoseconds.div_ceil(u128::from(rate.max(1)))).unwrap_or(u64::MAX)
}
