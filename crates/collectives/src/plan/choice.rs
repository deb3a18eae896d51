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

/// The most ranks each of which sends to all others one by one, where that is not for the bandwidth.
const FEW: usize = 8;

impl Algorithm {
    /// The algorithm that suits an operation: `bytes` is the size of what [`CollectivePlan::new`] is given.
    ///
    /// [`CollectivePlan::new`]: super::CollectivePlan::new
    pub fn of(collective: Collective, ranks: usize, bytes: usize, links: GroupLinks) -> Algorithm {
        let (is_small, are_few) = (bytes <= SMALL, ranks <= FEW);
        match (collective, links) {
            (Collective::AllReduce, GroupLinks::Direct) => match (is_small, are_few) {
                (true, true) => Algorithm::AtOnce,
                _ if ranks > 2 && ranks.is_power_of_two() => Algorithm::Halving,
                (true, false) => Algorithm::Tree,
                (false, _) => Algorithm::Direct,
            },
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
}
