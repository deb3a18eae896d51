//! Requests that sources refuse.

use std::fmt;

use super::{MemorySource, SourceError};
use crate::sizes::Figures;

/// A request that a source refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceDenial {
    /// The kind of thing that it was asked for.
    pub kind: RequestKind,
    /// The bytes that it was asked for.
    pub bytes: u64,
    /// Its answer.
    pub refusal: Refusal,
    /// The bytes that it had given for the same request before, and got back for lack of the rest.
    pub given: u64,
}

/// Kinds of things that a source may be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    /// Nothing: there are no addresses for a request of that size, whatever the source has; or a
    /// program's own allocator did not ask; or a limit was known that it would exceed.
    Nothing,
    /// Whether it could [hold](MemorySource::could_hold) what the program holds and the request
    /// besides, so many bytes in all. It could not, so it was not asked for memory, and nothing was
    /// given back to it.
    Total,
    /// A segment: addresses with memory.
    Segment,
    /// Addresses.
    Addresses,
    /// Physical memory.
    Memory,
    /// Memory mapped at addresses, or made accessible there.
    Mapping,
}

/// Why the source gave no memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It has not that much left.
    Exhausted,
    /// This many bytes in all may be taken from it, and no more.
    Limit(u64),
}

impl SourceDenial {
    pub(in crate::policy) fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        figures: &Figures,
    ) -> fmt::Result {
        let bytes = figures.show(self.bytes);
        let limit = match self.refusal {
            Refusal::Exhausted => None,
            Refusal::Limit(limit) => Some(figures.show(limit)),
        };
        match (self.kind, limit) {
            (RequestKind::Nothing, None) => return write!(f, "there are no addresses for {bytes}"),
            (RequestKind::Nothing, Some(limit)) => {
                return write!(f, "{bytes} more would exceed the limit of {limit}");
            }
            (RequestKind::Total, None) => {
                return write!(f, "with it, {bytes} would be held, which is more than there is");
            }
            (RequestKind::Total, Some(limit)) => {
                let more = "which is more than the limit of";
                return write!(f, "with it, {bytes} would be held, {more} {limit}");
            }
            (RequestKind::Segment | RequestKind::Memory, _) => {
                write!(f, "{bytes} more were refused")?
            }
            (RequestKind::Addresses, _) => write!(f, "{bytes} of addresses were refused")?,
            (RequestKind::Mapping, _) => write!(f, "to map {bytes} was refused")?,
        }
        limit.map_or(Ok(()), |limit| write!(f, " by the limit of {limit}"))
    }
}

impl fmt::Display for SourceDenial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &Figures::new([self.bytes]))
    }
}

/// Why a policy did not get what it asked the source for.
#[derive(Debug)]
pub(in crate::policy) enum Unable<E> {
    /// The source has not that much; to give memory back may help.
    Refused(SourceDenial),
    /// The source failed.
    Failed(E),
}

impl<E> Unable<E> {
    /// Sorts a source's error, on being asked for so many bytes of something.
    pub(in crate::policy) fn to_get(
        kind: RequestKind,
        bytes: u64,
    ) -> impl Fn(SourceError<E>) -> Unable<E> {
        let refused =
            move |refusal| Unable::Refused(SourceDenial { kind, bytes, refusal, given: 0 });
        move |error| match error {
            SourceError::Exhausted => refused(Refusal::Exhausted),
            SourceError::LimitReached { limit } => refused(Refusal::Limit(limit)),
            SourceError::Failed(failure) => Unable::Failed(failure),
        }
    }

    /// The same, after so many bytes were given for the request that have gone back.
    pub(in crate::policy) fn after(self, given: u64) -> Unable<E> {
        match self {
            Unable::Refused(refused) => Unable::Refused(SourceDenial { given, ..refused }),
            failed @ Unable::Failed(_) => failed,
        }
    }

    /// The refusal of a request that no range of addresses is large enough for.
    pub(in crate::policy) fn no_addresses(bytes: u64) -> Unable<E> {
        Unable::Refused(SourceDenial::without_asking(bytes))
    }
}

impl SourceDenial {
    /// The refusal of a request for `bytes`, besides what is held, if the source could not hold both.
    pub(in crate::policy) fn beyond_all<S: MemorySource>(
        source: &mut S,
        held: u64,
        bytes: u64,
    ) -> Option<SourceDenial> {
        let total = held.saturating_add(bytes);
        let refusal = source.could_hold(total).err()?;
        Some(SourceDenial { kind: RequestKind::Total, bytes: total, refusal, given: 0 })
    }

    /// The refusal of a request that no source could serve.
    pub(in crate::policy) fn without_asking(bytes: u64) -> SourceDenial {
        SourceDenial { kind: RequestKind::Nothing, bytes, refusal: Refusal::Exhausted, given: 0 }
    }

    /// The refusal of what would exceed a limit, for which the source was not asked.
    pub(in crate::policy) fn by_limit(bytes: u64, limit: u64) -> SourceDenial {
        SourceDenial { kind: RequestKind::Nothing, bytes, refusal: Refusal::Limit(limit), given: 0 }
    }

    /// Whether the policy was told to refuse what exceeds a limit, and to try nothing first.
    pub(crate) fn is_rejection(&self) -> bool {
        self.kind == RequestKind::Nothing && matches!(self.refusal, Refusal::Limit(_))
    }
}
