//! Which algorithm an operation takes.

use super::{Algorithm, Collective};

/// The links between the ranks of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Links {
    /// Each rank reaches each other one directly.
    Direct,
    /// What goes from one rank to another goes through the host.
    Host,
}

/// The most bytes of a tensor that is sent to everybody as a whole.
const SMALL: usize = 64 << 10;

impl Algorithm {
    /// The algorithm that suits an operation: `bytes` is the size of what [`Plan::new`] is given.
    ///
    /// [`Plan::new`]: super::Plan::new
    pub fn of(collective: Collective, ranks: usize, bytes: usize, _links: Links) -> Algorithm {
        match collective {
            Collective::AllReduce if bytes <= SMALL && ranks <= 8 => Algorithm::AtOnce,
            Collective::Broadcast { .. } if bytes <= SMALL => Algorithm::AtOnce,
            _ => Algorithm::Direct,
        }
    }
}
