//! The word of a barrier in memory (`mbarrier`), which PTX leaves open.
//!
//! From the lowest bit on: 20 bits for the arrivals that the phase waits for, 20 for those of the next
//! ones, 21 for the bytes that it waits for (which may be negative), a bit that is set, and at the end
//! the parity of the phase.

use ptx::MbarrierOp;

/// The bits of a number of arrivals.
const COUNT_BITS: u32 = 20;
const MAX_COUNT: u64 = (1 << COUNT_BITS) - 1;
const BYTES_AT: u32 = 2 * COUNT_BITS;
const BYTES_BITS: u32 = COUNT_BITS + 1;
const VALID: u64 = 1 << (BYTES_AT + BYTES_BITS);
const PARITY_AT: u32 = 63;

/// A barrier taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mbarrier {
    pending: u64,
    expected: u64,
    bytes: i64,
    parity: u64,
}

/// The result of an operation on a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    /// The word that is there now.
    pub(crate) word: u64,
    /// Whether the phase is complete now.
    pub(crate) completes: bool,
}

/// The reasons for which an operation on a barrier is undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MbarrierMisuse {
    /// The memory holds no barrier.
    NoBarrier,
    /// A number of arrivals or of bytes that does not fit.
    Count,
    /// More arrivals than the phase waits for.
    TooMany,
}

impl Mbarrier {
    fn unpack(word: u64) -> Option<Mbarrier> {
        let bytes = (word >> BYTES_AT << (64 - BYTES_BITS)) as i64 >> (64 - BYTES_BITS);
        (word & VALID != 0).then_some(Mbarrier {
            pending: word & MAX_COUNT,
            expected: word >> COUNT_BITS & MAX_COUNT,
            bytes,
            parity: word >> PARITY_AT,
        })
    }

    fn pack(self) -> u64 {
        let bytes = self.bytes as u64 & ((1 << BYTES_BITS) - 1);
        self.pending
            | self.expected << COUNT_BITS
            | bytes << BYTES_AT
            | VALID
            | self.parity << PARITY_AT
    }

    /// The word, after the phase has been completed if it waits for nothing.
    fn settled(mut self) -> Changed {
        let completes = self.pending == 0 && self.bytes == 0;
        if completes {
            (self.pending, self.parity) = (self.expected, self.parity ^ 1);
        }
        Changed { word: self.pack(), completes }
    }
}

/// Changes the word of a barrier.
///
/// # Errors
/// The operation is undefined; nothing changes then.
pub(crate) fn change(word: u64, op: MbarrierOp, number: u32) -> Result<Changed, MbarrierMisuse> {
    let count = u64::from(number);
    match op {
        MbarrierOp::Initialize if count == 0 || count > MAX_COUNT => {
            return Err(MbarrierMisuse::Count);
        }
        MbarrierOp::Initialize => {
            let fresh = Mbarrier { pending: count, expected: count, bytes: 0, parity: 0 };
            return Ok(Changed { word: fresh.pack(), completes: false });
        }
        MbarrierOp::Invalidate => return Ok(Changed { word: 0, completes: false }),
        _ => {}
    }
    let mut barrier = Mbarrier::unpack(word).ok_or(MbarrierMisuse::NoBarrier)?;
    match op {
        MbarrierOp::Look | MbarrierOp::CopiesArrive { counted: false } => {
            return Ok(Changed { word, completes: false });
        }
        MbarrierOp::ExpectBytes => barrier.bytes += i64::from(number),
        MbarrierOp::CompleteBytes => barrier.bytes -= i64::from(number),
        _ if count > barrier.pending => return Err(MbarrierMisuse::TooMany),
        _ => {
            barrier.pending -= count;
            if op == MbarrierOp::ArriveAndDrop {
                barrier.expected = barrier.expected.saturating_sub(count);
            }
        }
    }
    if barrier.bytes.unsigned_abs() > MAX_COUNT {
        return Err(MbarrierMisuse::Count);
    }
    Ok(barrier.settled())
}

/// Whether the phase of that parity is complete.
pub(crate) fn is_complete(word: u64, parity: u32) -> bool {
    word >> PARITY_AT != u64::from(parity & 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(steps: &[(MbarrierOp, u32)]) -> (u64, Vec<bool>) {
        let mut word = 0;
        let mut completes = Vec::new();
        for &(op, number) in steps {
            let changed = change(word, op, number).expect("it is defined");
            word = changed.word;
            completes.push(changed.completes);
        }
        (word, completes)
    }

    #[test]
    fn a_phase_completes_with_its_last_arrival_and_its_last_byte() {
        use MbarrierOp::{Arrive, CompleteBytes, ExpectBytes, Initialize};
        let (word, completes) = run(&[
            (Initialize, 2),
            (ExpectBytes, 64),
            (Arrive, 1),
            (Arrive, 1),
            (CompleteBytes, 64),
        ]);
        assert_eq!(completes, [false, false, false, false, true]);
        assert!(is_complete(word, 0) && !is_complete(word, 1));
        assert_eq!(change(word, Arrive, 3), Err(MbarrierMisuse::TooMany));
        assert_eq!(change(0, Arrive, 1), Err(MbarrierMisuse::NoBarrier));
    }

    #[test]
    fn bytes_may_arrive_before_they_are_expected() {
        use MbarrierOp::{Arrive, CompleteBytes, ExpectBytes, Initialize};
        let steps = [(Initialize, 1), (CompleteBytes, 16), (ExpectBytes, 16), (Arrive, 1)];
        assert_eq!(run(&steps).1, [false, false, false, true]);
    }

    #[test]
    fn who_drops_out_is_not_expected_again() {
        use MbarrierOp::{Arrive, ArriveAndDrop, Initialize};
        let steps = [(Initialize, 2), (ArriveAndDrop, 1), (Arrive, 1), (Arrive, 1)];
        assert_eq!(run(&steps).1, [false, false, true, true]);
    }
}
