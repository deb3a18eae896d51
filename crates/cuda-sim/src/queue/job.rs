//! Device work in pieces.

use std::ops::Range;

use super::failure::Failure;
use crate::time::Demand;
use cuda_check::Label;

/// Device work: a launch, a copy, a fill.
pub(crate) trait Job: Send + Sync {
    /// The number of pieces, at least 1. They may run in any order and at the same time.
    fn pieces(&self) -> u64;

    /// Whether there is so much to do that it pays to wake threads for it at once, rather than
    /// after a look at how long the first piece takes.
    fn is_heavy(&self) -> bool;

    /// The engines and the time that it would need of the hardware that is simulated.
    fn demand(&self) -> Demand {
        Demand::Nothing
    }

    /// The kind of operation, for reports.
    fn label(&self) -> Label {
        Label::Other
    }

    /// Runs some of the pieces on the calling thread.
    ///
    /// # Errors
    /// Why they failed; the device is lost then.
    fn run(&self, pieces: Range<u64>) -> Result<(), Failure>;
}
