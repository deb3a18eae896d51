//! Evidence that a request could not be served, for somebody who knows nothing of the policy.

use std::collections::BTreeSet;
use std::fmt;

use crate::policy::{Address, PoolId, PoolOf, Refusal, RequestKind, SourceDenial};
use crate::sizes::Figures;

/// Proof that no memory could be found for a request.
///
/// [`denial`](Self::denial) is what the source refused, [`retained`](Self::retained) how much memory
/// stays where it is, and why, and [`is_final`](Self::is_final) whether waiting would have helped;
/// the text has all of that. [`evidence`](Self::evidence) has every figure, for a program that checks
/// it.
///
/// ```
/// use gpu_alloc::policy::{
///     Address, AllocateError, RequestKind, Retention, MemorySource, Policy, Pytorch, SourceError,
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
/// let denial = certificate.denial();
/// assert_eq!((denial.kind, denial.bytes), (RequestKind::Segment, 20 << 20));
/// assert_eq!(certificate.retained(Retention::Allocations), 2 << 20);
/// assert!(certificate.is_final(), "no work is under way that would change it");
/// assert_eq!(certificate.evidence().usages[0].held, 1024);
/// # policy.free(small, &[]).unwrap();
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Certificate {
    evidence: Evidence,
}

/// The figures of a [`Certificate`]: what the source refused, and what has become of every byte that
/// was taken from it, after everything was given back that may be.
///
/// Who knows the calls to the source, the requests, the frees and the completions can check each of
/// them, and that nothing else would have done:
///
/// - No run of free memory that the request could have had is large enough
///   ([`largest_free_block`](super::OutOfMemoryReport::largest_free_block)).
/// - Where memory comes in segments, none is left that nobody has a claim to
///   ([`Retention::None`]), and the source refused one more.
/// - Where it comes in pages, more are missing at the best [place](ClosestPlace) than could be brought
///   there.
///
/// Or, more simply, the source can never hold the request besides what is held
/// ([`RequestKind::Total`]). What is free stays where it is then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// The last request to the source, which was refused.
    pub denial: SourceDenial,
    /// The place that came closest, where memory comes in pages.
    pub place: Option<ClosestPlace>,
    /// All that is taken from the source.
    pub usages: Vec<SegmentUsage>,
}

/// A place where the request's block could lie, if there were enough memory for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClosestPlace {
    /// The address at which the block would begin.
    pub address: Address,
    /// The bytes of a page.
    pub page_bytes: u64,
    /// The pages that the block would touch.
    pub pages: u64,
    /// The number of these pages that have no memory.
    pub missing: u64,
    /// The pages that could be brought there: free ones elsewhere that may move, and those that the
    /// source [gave](SourceDenial::given).
    pub supply: u64,
}

/// Memory that was taken from the source at once: a segment, or a piece of physical memory. It moves
/// or goes back as a whole or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentUsage {
    /// Its first byte; `None` where it is mapped nowhere.
    pub address: Option<Address>,
    /// Its size.
    pub bytes: u64,
    /// The bytes of it that the program holds.
    pub held: u64,
    /// The bytes of it that were freed and wait for work on other streams.
    pub waiting: u64,
    /// The reason why it stays where it is.
    pub retention: Retention,
}

/// Reasons why memory cannot serve elsewhere or go back to the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Retention {
    /// No reason: it could serve elsewhere.
    None,
    /// All of it is free, but work on its own stream, or work that used it where it is mapped, is
    /// not known to be over. A later request may fare better.
    Work,
    /// Graphs use it, whether or not anybody holds it.
    Graphs,
    /// It belongs to a living pool of a part of the program, by a policy that keeps such memory for
    /// those who are in the pool, whether or not anybody holds it.
    Pool(PoolId),
    /// A part of it is held, or was freed and waits for work on other streams.
    Allocations,
}

impl Certificate {
    /// The last request to the source, which was refused.
    pub fn denial(&self) -> SourceDenial {
        self.evidence.denial
    }

    /// Whether no completion of work would change it: nothing of what is free is kept by work, or what
    /// is held leaves too little as it is.
    pub fn is_final(&self) -> bool {
        self.denial().kind == RequestKind::Total
            || self
                .usages()
                .iter()
                .all(|usage| usage.retention != Retention::Work && usage.waiting == 0)
    }

    /// The bytes of the segments, or pieces of physical memory, that stay where they are for a
    /// reason; of those that could have gone, for [`Retention::None`].
    pub fn retained(&self, retention: Retention) -> u64 {
        let usages = self.usages().iter().filter(|usage| usage.retention == retention);
        usages.map(|usage| usage.bytes).sum()
    }

    /// All figures, as plain data.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub(crate) fn usages(&self) -> &[SegmentUsage] {
        &self.evidence.usages
    }

    pub(crate) fn place(&self) -> Option<ClosestPlace> {
        self.evidence.place
    }

    /// The free bytes of segments that are held in part: they can neither serve the request nor go
    /// back to the source.
    pub fn free_beside_held(&self) -> u64 {
        self.usages().iter().map(SegmentUsage::free_beside_held).sum()
    }
}

impl From<Evidence> for Certificate {
    fn from(evidence: Evidence) -> Certificate {
        Certificate { evidence }
    }
}

impl SegmentUsage {
    /// The free bytes of it, if it is held in part: they cannot go back to the source.
    pub(crate) fn free_beside_held(&self) -> u64 {
        let free = self.bytes - self.held - self.waiting;
        if self.retention == Retention::Allocations { free } else { 0 }
    }
}

impl From<PoolOf> for Retention {
    fn from(pool: PoolOf) -> Retention {
        match pool {
            PoolOf::Graphs(_) => Retention::Graphs,
            PoolOf::Program(id) => Retention::Pool(id),
        }
    }
}

impl Certificate {
    /// The sizes that its text has.
    pub(crate) fn figures(&self) -> impl Iterator<Item = u64> {
        let limit = match self.denial().refusal {
            Refusal::Exhausted => None,
            Refusal::Limit(limit) => Some(limit),
        };
        [self.denial().bytes, self.free_beside_held()].into_iter().chain(limit)
    }

    /// Writes its text, with sizes that are shown so among others.
    pub(crate) fn write(&self, f: &mut fmt::Formatter<'_>, figures: &Figures) -> fmt::Result {
        self.denial().write(f, figures)?;
        if let Some(ClosestPlace { pages, missing, supply, page_bytes, .. }) = self.place() {
            let page = figures.show(page_bytes);
            write!(f, "; the best place for {pages} pages of {page} lacks memory for {missing}")?;
            write!(f, ", and {supply} could be moved there")?;
        }
        let beside = self.free_beside_held();
        if beside > 0 {
            write!(f, "; {} are unused beside what is held", figures.show(beside))?;
        }
        let keepers: BTreeSet<_> = self.usages().iter().map(|usage| usage.retention).collect();
        for retention in keepers {
            let bytes = figures.show(self.retained(retention));
            match retention {
                Retention::Work => write!(f, "; {bytes} are free once work is over")?,
                Retention::Graphs => write!(f, "; {bytes} are kept for graphs")?,
                Retention::Pool(PoolId(id)) => write!(f, "; memory pool {id} keeps {bytes}")?,
                Retention::None | Retention::Allocations => {}
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
    /// The usages are counted: there may be as many as pages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = |of: fn(&SegmentUsage) -> u64| self.usages().iter().map(of).sum::<u64>();
        let (bytes, held) = (sum(|usage| usage.bytes), sum(|usage| usage.held));
        let usages = format!("{} of {bytes} bytes, {held} held", self.usages().len());
        f.debug_struct("Certificate")
            .field("denial", &self.evidence.denial)
            .field("place", &self.evidence.place)
            .field("usages", &format_args!("{usages}"))
            .finish()
    }
}
