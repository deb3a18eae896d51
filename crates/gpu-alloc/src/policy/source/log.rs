//! A source that remembers what was asked of it, for tests and replays.

use super::{Adapted, Adaptor, SourceCall};

/// A source with a [log](Logging).
pub type Log<S> = Adapted<S, Logging>;

/// Writes down every call to a source, and how it went.
#[derive(Debug, Default)]
pub struct Logging(Vec<SourceCall>);

impl Logging {
    /// The calls so far, first to last.
    pub fn all(&self) -> &[SourceCall] {
        &self.0
    }

    /// The calls since the last time that they were taken, first to last.
    pub fn take(&mut self) -> Vec<SourceCall> {
        std::mem::take(&mut self.0)
    }
}

impl Adaptor for Logging {
    fn called(&mut self, call: SourceCall) {
        self.0.push(call);
    }
}

impl<S> Log<S> {
    /// Logs the calls to `source`.
    pub fn new(source: S) -> Self {
        Adapted::around(source, Logging::default())
    }

    /// [`Logging::all`].
    pub fn calls(&self) -> &[SourceCall] {
        self.adaptor().all()
    }

    /// [`Logging::take`].
    pub fn take_calls(&mut self) -> Vec<SourceCall> {
        self.adaptor_mut().take()
    }
}
