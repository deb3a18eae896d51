//! What shows that a request could not be served, to somebody who knows nothing of the policy.

use std::collections::BTreeSet;
use std::fmt;

use super::{Address, MemorySource, PoolId, PoolOf, Refusal, SourceError};
use crate::sizes::Figures;

/// What shows that no memory could be found for a request.
///
/// It names what the source refused and what has become of every byte that was taken from it, after
/// everything was given back that may be. Who knows the calls to the source, the requests, the frees
/// and the completions can check each figure, and that nothing else would have done:
///
/// - No run of free memory that the request could have had is large enough
///   ([`largest_free_block`](super::OutOfMemoryReport::largest_free_block)).
/// - Where memory comes in segments, none is left that nobody has a claim to
///   ([`KeptBy::Nobody`]), and the source refused one more.
/// - Where it comes in pages, more are missing at the best [place](Place) than could be brought
///   there.
///
/// Or, more simply, the source can never hold the request besides what is held ([`Asked::Total`]).
/// What is free stays where it is then.
///
/// ```
/// use gpu_alloc::policy::{
///     Address, AllocateError, Asked, KeptBy, MemorySource, Policy, Pytorch, SourceError,
/// };
///
/// /// One segment of 2 MiB.
/// struct Single(Option<Address>);
/// impl MemorySource for Single {
///     type Error = std::convert::Infallible;
///     fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
///         let fits = bytes <= 2 << 20;
///         self.0.take_if(|_| fits).ok_or(SourceError::Exhausted)
///     }
///     fn release(&mut self, address: Address, _: u64) {
///         self.0 = Some(address);
///     }
/// }
///
/// let mut source = Single(Some(Address(1 << 32)));
/// let mut policy = Pytorch::<u8>::new();
/// let small = policy.allocate(&mut source, 1000, 0.into()).unwrap();
/// let Err(AllocateError::OutOfMemory(report)) =
///     policy.allocate(&mut source, 3 << 20, 0.into())
/// else {
///     panic!("there is not that much");
/// };
/// let certificate = report.certificate;
/// assert_eq!((certificate.refused.asked, certificate.refused.bytes), (Asked::Segment, 20 << 20));
/// let [segment] = &certificate.shares[..] else { panic!("there is one segment") };
/// assert_eq!((segment.kept_by, segment.held), (KeptBy::Holders, 1024));
/// assert!(certificate.is_final(), "no work is under way that would change it");
/// # policy.free(small, &[]).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    /// What was asked of the source last, and refused.
    pub refused: Refused,
    /// Where memory comes in pages: the place that came closest.
    pub place: Option<Place>,
    /// All that is taken from the source.
    pub shares: Vec<Share>,
}

/// What a source refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused {
    /// What it was asked for.
    pub asked: Asked,
    /// How many bytes of it.
    pub bytes: u64,
    /// What it said.
    pub refusal: Refusal,
    /// The bytes that it had given for the same request before, and got back for lack of the rest.
    pub given: u64,
}

/// What a source may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// Nothing: there are no addresses for a request of that size, whatever the source has; or a
    /// program's own allocator did not ask; or a limit was known that it would exceed.
    Nothing,
    /// Whether it could [hold](super::MemorySource::could_hold) what the program holds and the request
    /// besides, so many bytes in all. It could not, so it was not asked for memory, and nothing was
    /// given back to it.
    Total,
    /// A segment: addresses with memory.
    Segment,
    /// Addresses.
    Addresses,
    /// Physical memory.
    Memory,
    /// To show memory at addresses.
    Mapping,
}

/// A place where the request's block could lie, if there were enough memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Where the block would begin.
    pub address: Address,
    /// The bytes of a page.
    pub page_bytes: u64,
    /// The pages that the block would touch.
    pub pages: u64,
    /// Those of them that have no memory.
    pub missing: u64,
    /// The pages that could be brought there: free ones elsewhere that may move, and those that the
    /// source [gave](Refused::given).
    pub supply: u64,
}

/// Memory that was taken from the source at once: a segment, or a piece of physical memory. It moves
/// or goes back as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its first byte; `None` where it is mapped nowhere.
    pub address: Option<Address>,
    /// Its size.
    pub bytes: u64,
    /// What the program holds of it.
    pub held: u64,
    /// What of it was freed, and waits for work on other streams.
    pub waiting: u64,
    /// What keeps it where it is.
    pub kept_by: KeptBy,
}

/// What keeps memory from serving elsewhere, or from going back to the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KeptBy {
    /// Nothing does.
    Nobody,
    /// All of it is free, but work on its own stream, or work that used it where it is mapped, is
    /// not known to be over. A later request may fare better.
    Work,
    /// Graphs use it, whether or not anybody holds it.
    Graphs,
    /// It belongs to a living pool of a part of the program, by a policy that keeps such memory for
    /// those who are in the pool, whether or not anybody holds it.
    Pool(PoolId),
    /// A part of it is held, or was freed and waits for work on other streams.
    Holders,
}

impl Certificate {
    /// Whether no completion of work would change it: nothing of what is free is kept by work, or what
    /// is held leaves too little as it is.
    pub fn is_final(&self) -> bool {
        self.refused.asked == Asked::Total
            || self.shares.iter().all(|share| share.kept_by != KeptBy::Work && share.waiting == 0)
    }

    /// The bytes of the shares that something keeps, or of those that nothing keeps.
    pub fn kept_by(&self, kept_by: KeptBy) -> u64 {
        let shares = self.shares.iter().filter(|share| share.kept_by == kept_by);
        shares.map(|share| share.bytes).sum()
    }

    /// What is free in shares that are held in part.
    pub fn free_beside_held(&self) -> u64 {
        self.shares.iter().map(Share::free_beside_held).sum()
    }
}

impl Share {
    /// What is free of it, if it is held in part: that cannot go back to the source.
    pub fn free_beside_held(&self) -> u64 {
        let free = self.bytes - self.held - self.waiting;
        if self.kept_by == KeptBy::Holders { free } else { 0 }
    }
}

impl From<PoolOf> for KeptBy {
    fn from(pool: PoolOf) -> KeptBy {
        match pool {
            PoolOf::Graphs(_) => KeptBy::Graphs,
            PoolOf::Program(id) => KeptBy::Pool(id),
        }
    }
}

impl Place {
    /// The pages that are missing and could not be brought there. It is 0 where there are enough in
    /// number, but in pieces that do not fit.
    pub fn lacking(&self) -> u64 {
        self.missing.saturating_sub(self.supply)
    }
}

impl Certificate {
    /// The sizes that its text has.
    pub(crate) fn figures(&self) -> impl Iterator<Item = u64> {
        let limit = match self.refused.refusal {
            Refusal::Exhausted => None,
            Refusal::Limit(limit) => Some(limit),
        };
        [self.refused.bytes, self.free_beside_held()].into_iter().chain(limit)
    }

    /// Writes its text, with sizes that are shown so among others.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, figures: &Figures) -> fmt::Result {
        self.refused.write(f, figures)?;
        if let Some(Place { pages, missing, supply, page_bytes, .. }) = self.place {
            let page = figures.show(page_bytes);
            write!(f, "; the best place for {pages} pages of {page} lacks memory for {missing}")?;
            write!(f, ", and {supply} could be moved there")?;
        }
        let beside = self.free_beside_held();
        if beside > 0 {
            write!(f, "; {} are unused beside what is held", figures.show(beside))?;
        }
        let keepers: BTreeSet<_> = self.shares.iter().map(|share| share.kept_by).collect();
        for kept_by in keepers {
            let bytes = figures.show(self.kept_by(kept_by));
            match kept_by {
                KeptBy::Work => write!(f, "; {bytes} are free once work is over")?,
                KeptBy::Graphs => write!(f, "; {bytes} are kept for graphs")?,
                KeptBy::Pool(PoolId(id)) => write!(f, "; memory pool {id} keeps {bytes}")?,
                KeptBy::Nobody | KeptBy::Holders => {}
            }
        }
        Ok(())
    }
}

impl fmt::Display for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &Figures::new(self.figures()))
    }
}

impl fmt::Debug for Certificate {
    /// The shares are counted: there may be as many as pages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&Share) -> u64| self.shares.iter().map(of).sum::<u64>();
        let (bytes, held) = (sum(|share| share.bytes), sum(|share| share.held));
        let shares = format!("{} of {bytes} bytes, {held} held", self.shares.len());
        f.debug_struct("Certificate")
            .field("refused", &self.refused)
            .field("place", &self.place)
            .field("shares", &format_args!("{shares}"))
            .finish()
    }
}

impl Refused {
    fn write(&self, f: &mut fmt::Formatter<'_>, figures: &Figures) -> fmt::Result {
        let bytes = figures.show(self.bytes);
        let limit = match self.refusal {
            Refusal::Exhausted => None,
            Refusal::Limit(limit) => Some(figures.show(limit)),
        };
        match (self.asked, limit) {
            (Asked::Nothing, None) => return write!(f, "there are no addresses for {bytes}"),
            (Asked::Nothing, Some(limit)) => {
                return write!(f, "{bytes} more would exceed the limit of {limit}");
            }
            (Asked::Total, None) => {
                return write!(f, "with it, {bytes} would be held, which is more than there is");
            }
            (Asked::Total, Some(limit)) => {
                let more = "which is more than the limit of";
                return write!(f, "with it, {bytes} would be held, {more} {limit}");
            }
            (Asked::Segment | Asked::Memory, _) => write!(f, "{bytes} more were refused")?,
            (Asked::Addresses, _) => write!(f, "{bytes} of addresses were refused")?,
            (Asked::Mapping, _) => write!(f, "to map {bytes} was refused")?,
        }
        limit.map_or(Ok(()), |limit| write!(f, " by the limit of {limit}"))
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &Figures::new([self.bytes]))
    }
}

/// Why a policy did not get what it asked the source for.
#[derive(Debug)]
pub(super) enum Unable<E> {
    /// There is not that much, and to give memory back may help.
    Refused(Refused),
    /// The source failed.
    Failed(E),
}

impl<E> Unable<E> {
    /// Sorts a source's error, on being asked for so many bytes of something.
    pub(super) fn to_get(asked: Asked, bytes: u64) -> impl Fn(SourceError<E>) -> Unable<E> {
        let refused = move |refusal| Unable::Refused(Refused { asked, bytes, refusal, given: 0 });
        move |error| match error {
            SourceError::Exhausted => refused(Refusal::Exhausted),
            SourceError::LimitReached { limit } => refused(Refusal::Limit(limit)),
            SourceError::Failed(failure) => Unable::Failed(failure),
        }
    }

    /// The same, after so many bytes were given for the request that have gone back.
    pub(super) fn after(self, given: u64) -> Unable<E> {
        match self {
            Unable::Refused(refused) => Unable::Refused(Refused { given, ..refused }),
            failed @ Unable::Failed(_) => failed,
        }
    }

    /// There are no addresses for so many bytes.
    pub(super) fn no_addresses(bytes: u64) -> Unable<E> {
        Unable::Refused(Refused::without_asking(bytes))
    }
}

impl Refused {
    /// The refusal of a request for `bytes`, besides what is held, if the source could not hold both.
    pub(super) fn beyond_all<S: MemorySource>(
        source: &mut S,
        held: u64,
        bytes: u64,
    ) -> Option<Refused> {
        let total = held.saturating_add(bytes);
        let refusal = source.could_hold(total).err()?;
        Some(Refused { asked: Asked::Total, bytes: total, refusal, given: 0 })
    }

    /// The refusal of a request that no source could serve.
    pub(super) fn without_asking(bytes: u64) -> Refused {
        Refused { asked: Asked::Nothing, bytes, refusal: Refusal::Exhausted, given: 0 }
    }

    /// The refusal of what would exceed a limit, for which the source was not asked.
    pub(super) fn by_limit(bytes: u64, limit: u64) -> Refused {
        Refused { asked: Asked::Nothing, bytes, refusal: Refusal::Limit(limit), given: 0 }
    }

    /// Whether the policy was told to refuse what exceeds a limit, and to try nothing first.
    pub(crate) fn is_rejection(&self) -> bool {
        self.asked == Asked::Nothing && matches!(self.refusal, Refusal::Limit(_))
    }
}
