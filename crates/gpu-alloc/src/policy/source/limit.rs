//! A source that gives out no more than a limit: the per-process memory fraction, the cap on
//! page-locked memory.

use super::{Adapted, Adaptor, Refusal, RequestKind, SourceCall};

/// A source with a [limit](Limiting).
pub type Limit<S> = Adapted<S, Limiting>;

/// Counts what is taken from a source, and refuses what would exceed the limit.
///
/// Physical memory counts until it is destroyed; addresses do not count.
#[derive(Debug, Default)]
pub struct Limiting {
    limit: Option<u64>,
    held: u64,
}

impl Limiting {
    /// A limit for a source of which nothing has been taken yet; `None` is no limit.
    pub fn new(limit: Option<u64>) -> Self {
        Limiting { limit, held: 0 }
    }

    /// Changes the limit. What is held beyond a lower one stays held; no more is given until it has
    /// come back.
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.limit = limit;
    }

    /// The limit in force.
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The bytes taken and not given back.
    pub fn held(&self) -> u64 {
        self.held
    }
}

impl Adaptor for Limiting {
    fn admit(&mut self, kind: RequestKind, bytes: u64) -> Result<(), Refusal> {
        match (kind, self.limit) {
            (RequestKind::Segment | RequestKind::Memory, Some(limit))
                if bytes > limit.saturating_sub(self.held) =>
            {
                Err(Refusal::Limit(limit))
            }
            (RequestKind::Total, Some(limit)) if bytes > limit => Err(Refusal::Limit(limit)),
            _ => Ok(()),
        }
    }

    fn called(&mut self, call: SourceCall) {
        match call {
            SourceCall::Allocated { bytes, .. } | SourceCall::Created { bytes, .. } => {
                self.held = self.held.saturating_add(bytes);
            }
            SourceCall::Released { bytes, .. } | SourceCall::Destroyed { bytes, .. } => {
                // Who gives back what was never handed out is told nothing, and holds no less than
                // nothing.
                self.held = self.held.saturating_sub(bytes);
            }
            _ => {}
        }
    }
}

impl<S> Limit<S> {
    /// Limits a source of which nothing has been taken yet; `None` is no limit.
    pub fn new(source: S, limit: Option<u64>) -> Self {
        Adapted::around(source, Limiting::new(limit))
    }

    /// [`Limiting::set_limit`].
    pub fn set_limit(&mut self, limit: Option<u64>) {
        self.adaptor_mut().set_limit(limit);
    }

    /// [`Limiting::limit`].
    pub fn limit(&self) -> Option<u64> {
        self.adaptor().limit()
    }

    /// [`Limiting::held`].
    pub fn held(&self) -> u64 {
        self.adaptor().held()
    }
}
