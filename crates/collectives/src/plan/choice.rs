//! Which algorithm an operation takes.

use super::{Algorithm, Collective};

/// The links between the ranks of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GroupLinks {
    /// Each rank reaches each other one directly.
    Direct,
    /// All that goes from one rank to another goes through the host.
    Host,
}

/// The most bytes of a tensor that is sent to others as a whole.
const SMALL: usize = 64 << 10;

/// The least bytes that are sent in two pieces, one of which is combined while the other is on its way.
const CUT: usize = 32 << 20;

/// The bytes of a rank's part that it sends to the next one at a time.
const RING_PIECE: usize = 1 << 20;

/// The bytes of a rank's part that it sends on at a time in a broadcast.
const FORWARDED: usize = 2 << 20;

/// The most ranks each of which sends to all others one by one, where that is not for the bandwidth.
const FEW: usize = 8;

impl Algorithm {
    /// The algorithm that suits an operation: `bytes` is the size of what [`CollectivePlan::new`] is given.
    ///
    /// [`CollectivePlan::new`]: super::CollectivePlan::new
    pub fn of(collective: Collective, ranks: usize, bytes: usize, links: GroupLinks) -> Algorithm {
        let (is_small, are_few) = (bytes <= SMALL, ranks <= FEW);
        match (collective, links) {
            (Collective::AllReduce, GroupLinks::Direct) => {
                match (is_small, ranks > 2 && ranks.is_power_of_two()) {
                    (true, true) => Algorithm::Doubling,
                    (false, true) => Algorithm::Halving,
                    (true, false) if are_few => Algorithm::AtOnce,
                    (true, false) => Algorithm::Tree,
                    (false, false) => Algorithm::Direct,
                }
            }
            (Collective::AllReduce, GroupLinks::Host) if is_small => Algorithm::Tree,
            (Collective::AllReduce, GroupLinks::Host) => Algorithm::Ring,
            (Collective::Broadcast { .. }, GroupLinks::Direct) => match (is_small, are_few) {
                (true, true) => Algorithm::AtOnce,
                (true, false) => Algorithm::Tree,
                (false, _) => Algorithm::Direct,
            },
            (Collective::Broadcast { .. }, GroupLinks::Host) => Algorithm::Tree,
            _ => Algorithm::Direct,
        }
    }

    /// The number of pieces that suits an operation by this algorithm: of more, more is on its way while
    /// others are used, and each costs calls of the
    /// driver. `bytes` is as for [`of`](Algorithm::of).
    pub fn pieces(self, collective: Collective, ranks: usize, bytes: usize) -> usize {
        let of_size = |size: usize, most: usize| {
            bytes.div_ceil(size.saturating_mul(ranks.max(1))).clamp(1, most)
        };
        match (self, collective) {
            (Algorithm::Ring, Collective::AllReduce) => of_size(RING_PIECE, 4),
            (Algorithm::Direct, Collective::Broadcast { .. }) => of_size(FORWARDED, 16),
            (Algorithm::Direct | Algorithm::Halving, _) if bytes >= CUT => 2,
            _ => 1,
        }
    }
}
