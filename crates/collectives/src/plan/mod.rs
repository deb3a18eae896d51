//! Plans: what each rank does in a collective operation, as data.

mod builder;
mod choice;
mod direct;
mod doubling;
mod halving;
mod ring;
mod step;
mod tree;

use std::collections::BTreeSet;

pub use choice::GroupLinks;
pub use step::{BufferRegion, Lane, RankBuffer, RankStep, Signal};

use builder::StepWriter;

use crate::CollectiveError;

/// An operation in which all ranks of a group take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// Each rank's tensor becomes the combination of all.
    AllReduce,
    /// Each rank's tensor becomes that of the source.
    Broadcast {
        /// The rank whose tensor it is.
        source: usize,
    },
    /// One rank's tensor becomes the combination of all.
    Reduce {
        /// The rank whose tensor it is.
        target: usize,
    },
    /// Each rank's result has the tensors of all, one after the other.
    AllGather,
    /// The tensors have a part for each rank; its result is the combination of those parts.
    ReduceScatter,
    /// The source's tensor has a part for each rank, which becomes its result.
    Scatter {
        /// The rank whose tensor it is.
        source: usize,
    },
    /// One rank's result has the tensors of all, one after the other.
    Gather {
        /// The rank that gets them.
        target: usize,
    },
}

impl Collective {
    /// The name of the function.
    pub const fn name(self) -> &'static str {
        match self {
            Collective::AllReduce => "all_reduce",
            Collective::Broadcast { .. } => "broadcast",
            Collective::Reduce { .. } => "reduce",
            Collective::AllGather => "all_gather",
            Collective::ReduceScatter => "reduce_scatter",
            Collective::Scatter { .. } => "scatter",
            Collective::Gather { .. } => "gather",
        }
    }

    /// The rank that the operation is from, or to.
    pub(crate) fn named_rank(self) -> Option<usize> {
        match self {
            Collective::AllReduce | Collective::AllGather | Collective::ReduceScatter => None,
            Collective::Broadcast { source: rank }
            | Collective::Scatter { source: rank }
            | Collective::Reduce { target: rank }
            | Collective::Gather { target: rank } => Some(rank),
        }
    }
}

/// A way to do a collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// Every rank sends all that it has to every other one that needs it, at once.
    AtOnce,
    /// Every rank sends each other one its part; who has combined or got a part sends it to the rest.
    Direct,
    /// Ranks exchange halves, quarters and so on in pairs, and back: for as many as a power of two.
    Halving,
    /// Ranks exchange all that they have in pairs, with one at distance 1, 2, 4 and so on: for as many as a
    /// power of two.
    Doubling,
    /// Parts go from each rank to the next one, all around.
    Ring,
    /// Tensors go up a binary tree, and down again.
    Tree,
}

impl Algorithm {
    /// All of them, to compare their plans.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::AtOnce,
        Algorithm::Direct,
        Algorithm::Halving,
        Algorithm::Doubling,
        Algorithm::Ring,
        Algorithm::Tree,
    ];
}

/// The steps of every rank in a collective operation: a pure function of the operation, the
/// algorithm, the number of ranks and the number of elements.
///
/// A rank enqueues its steps in order. Before it enqueues a [`RankStep::Wait`], the signal must have been
/// enqueued; no order in which ranks do so ends in each waiting for another.
///
/// ```
/// use collectives::{Algorithm, Collective, CollectivePlan};
///
/// let (ranks, elements) = (8, 1 << 24);
/// let plan = CollectivePlan::new(Collective::AllReduce, Algorithm::Direct, ranks, elements, 2)?;
/// let least = 2 * (ranks - 1) * elements / ranks;
/// assert!((0..ranks).all(|rank| plan.sent_by(rank) as f64 <= 1.02 * least as f64));
/// # Ok::<(), collectives::CollectiveError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectivePlan {
    collective: Collective,
    algorithm: Algorithm,
    elements: usize,
    steps: Vec<Vec<RankStep>>,
    scratch: Vec<usize>,
}

impl CollectivePlan {
    /// The most ranks that a plan is made for: its steps may be as many as pairs of them.
    pub const MAX_RANKS: usize = 256;

    /// The most pieces.
    pub const MAX_PIECES: usize = 16;

    /// The plan of an operation of so many ranks. `elements` is what each rank puts in, or gets where
    /// that is less: a whole tensor of an all-reduce, a reduction and a broadcast, one rank's part of
    /// all others.
    ///
    /// What is combined, or sent on, is sent in so many pieces, that one is on its way while another one is
    /// used: 1 to [`MAX_PIECES`](CollectivePlan::MAX_PIECES).
    ///
    /// Where an algorithm has no plan of its own for an operation, the plan is that of
    /// [`Algorithm::Direct`].
    ///
    /// # Errors
    /// There are no ranks, or more than [`MAX_RANKS`](CollectivePlan::MAX_RANKS); the operation names a
    /// rank that is none of them; no memory has as many elements as all ranks have together.
    pub fn new(
        collective: Collective,
        algorithm: Algorithm,
        ranks: usize,
        elements: usize,
        pieces: usize,
    ) -> Result<CollectivePlan, CollectiveError> {
        let cannot = |why| Err(CollectiveError::Plan { ranks, elements, why });
        if ranks == 0 {
            return cannot("a plan is for one rank at least");
        }
        if ranks > CollectivePlan::MAX_RANKS {
            return cannot("there are more ranks than devices of one machine");
        }
        // Of what is within, all sizes and places of the plan's can be computed.
        if elements > isize::MAX as usize / ranks {
            return cannot("no memory has so many elements");
        }
        if let Some(rank) = collective.named_rank().filter(|&rank| rank >= ranks) {
            return Err(CollectiveError::NoSuchRank { op: collective.name(), rank, size: ranks });
        }
        let mut plan = StepWriter::new(ranks, pieces.clamp(1, CollectivePlan::MAX_PIECES));
        if ranks > 1 && elements > 0 {
            write(&mut plan, collective, algorithm, elements);
        }
        let scratch = std::mem::take(&mut plan.scratch);
        let steps = plan.into_steps();
        Ok(CollectivePlan { collective, algorithm, elements, steps, scratch })
    }

    /// The operation.
    pub fn collective(&self) -> Collective {
        self.collective
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.steps.len()
    }

    /// The number of elements that the plan was made for.
    pub fn elements(&self) -> usize {
        self.elements
    }

    /// The steps of a rank, none if there is no such rank.
    pub fn steps(&self, rank: usize) -> &[RankStep] {
        self.steps.get(rank).map_or(&[], Vec::as_slice)
    }

    /// The number of elements of scratch memory that a rank needs.
    pub fn scratch(&self, rank: usize) -> usize {
        self.scratch.get(rank).copied().unwrap_or(0)
    }

    /// The number of elements that a rank sends to others.
    pub fn sent_by(&self, rank: usize) -> usize {
        (0..self.ranks()).map(|to| self.sent(rank, to)).sum()
    }

    /// The number of elements that a rank gets from others.
    pub fn received_by(&self, rank: usize) -> usize {
        (0..self.ranks()).map(|from| self.sent(from, rank)).sum()
    }

    /// The pairs of ranks of which the first sends to the second.
    pub fn links(&self) -> impl Iterator<Item = (usize, usize)> {
        let of_rank = |(rank, steps): (usize, &Vec<RankStep>)| {
            let sent = steps.iter().filter_map(move |step| match step {
                RankStep::Copy { to_rank, .. } if *to_rank != rank => Some((rank, *to_rank)),
                _ => None,
            });
            sent.collect::<BTreeSet<_>>()
        };
        self.steps.iter().enumerate().flat_map(of_rank)
    }

    /// The number of elements that go over the link from one rank to another one.
    pub fn sent(&self, from: usize, to: usize) -> usize {
        let sent = self.steps(from).iter().map(|step| match step {
            RankStep::Copy { to_rank, from, .. } if *to_rank == to => from.len(),
            _ => 0,
        });
        if from == to { 0 } else { sent.sum() }
    }
}

fn write(plan: &mut StepWriter, collective: Collective, algorithm: Algorithm, elements: usize) {
    let ranks = plan.ranks();
    match (collective, algorithm) {
        (Collective::AllReduce, Algorithm::AtOnce) => direct::all_reduce_at_once(plan, elements),
        (Collective::AllReduce, Algorithm::Halving) if ranks.is_power_of_two() => {
            halving::all_reduce(plan, elements);
        }
        (Collective::AllReduce, Algorithm::Doubling) if ranks.is_power_of_two() => {
            doubling::all_reduce(plan, elements);
        }
        (Collective::AllReduce, Algorithm::Ring) => ring::all_reduce(plan, elements),
        (Collective::AllReduce, Algorithm::Tree) => tree::all_reduce(plan, elements),
        (Collective::AllReduce, _) => direct::all_reduce(plan, elements),
        (Collective::Broadcast { source }, Algorithm::Tree) => {
            tree::broadcast(plan, elements, source);
        }
        (Collective::Broadcast { source }, Algorithm::AtOnce) => {
            direct::broadcast(plan, elements, source);
        }
        (Collective::Broadcast { source }, _) => {
            direct::broadcast_by_parts(plan, elements, source);
        }
        (Collective::Reduce { target }, _) => direct::reduce(plan, elements, target),
        (Collective::AllGather, _) => direct::all_gather(plan, elements),
        (Collective::ReduceScatter, _) => direct::reduce_scatter(plan, elements),
        (Collective::Scatter { source }, _) => direct::scatter(plan, elements, source),
        (Collective::Gather { target }, _) => direct::gather(plan, elements, target),
    }
}
