//! The meaning of the number of a line.

/// The quantity that is reported of the time of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Metric {
    /// The time of a call; less is better.
    Nanoseconds,
    /// The time of one of the equal pieces that a call consists of.
    NanosecondsOfEach { pieces: u32 },
    /// The bytes that an ideal kernel moves, by time.
    Bandwidth { bytes: usize },
    /// Floating-point operations by time.
    Arithmetic { operations: f64 },
    /// Training steps by time; a call is one.
    Steps,
    /// Samples of a data set by time.
    Samples { count: usize },
    /// By how much a call is faster than something else that does the same, in whose time its own
    /// is measured.
    Ratio,
}

impl Metric {
    /// The unit, as a line names it.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Metric::Nanoseconds | Metric::NanosecondsOfEach { .. } => "ns",
            Metric::Bandwidth { .. } => "GB/s",
            Metric::Arithmetic { .. } => "GFLOP/s",
            Metric::Steps => "steps/s",
            Metric::Samples { .. } => "samples/s",
            Metric::Ratio => "ratio",
        }
    }

    /// The number to report of a call that takes so long.
    pub(crate) fn value(self, seconds: f64) -> f64 {
        match self {
            Metric::Nanoseconds => seconds * 1e9,
            Metric::NanosecondsOfEach { pieces } => seconds * 1e9 / f64::from(pieces),
            Metric::Bandwidth { bytes } => bytes as f64 / 1e9 / seconds,
            Metric::Arithmetic { operations } => operations / 1e9 / seconds,
            Metric::Samples { count } => count as f64 / seconds,
            Metric::Steps | Metric::Ratio => 1.0 / seconds,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_reported_as_such_and_work_by_time() {
        let half = |metric: Metric| (metric.value(0.5), metric.unit());
        assert_eq!(half(Metric::Nanoseconds), (5e8, "ns"));
        assert_eq!(half(Metric::NanosecondsOfEach { pieces: 10 }), (5e7, "ns"));
        assert_eq!(half(Metric::Bandwidth { bytes: 1_000_000_000 }), (2.0, "GB/s"));
        assert_eq!(half(Metric::Arithmetic { operations: 3e9 }), (6.0, "GFLOP/s"));
        assert_eq!(half(Metric::Steps), (2.0, "steps/s"));
        assert_eq!(half(Metric::Samples { count: 100 }), (200.0, "samples/s"));
        assert_eq!(half(Metric::Ratio), (2.0, "ratio"));
    }
}
