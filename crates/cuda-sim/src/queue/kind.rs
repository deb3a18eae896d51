//! Kinds of streams.

/// The kinds of streams by how they are ordered against their context's legacy default stream, an
/// `S`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StreamKind<S> {
    /// It is the legacy default stream: its work comes after all that was enqueued in its
    /// [`Blocking`](StreamKind::Blocking) streams, and they wait for it in turn.
    Legacy,
    /// Ordered against that legacy stream.
    Blocking(S),
    /// Ordered by events only.
    NonBlocking,
}

impl<S> StreamKind<S> {
    /// The same kind, with another name for the legacy default stream.
    pub(super) fn map<T>(self, name: impl FnOnce(S) -> T) -> StreamKind<T> {
        match self {
            StreamKind::Legacy => StreamKind::Legacy,
            StreamKind::Blocking(legacy) => StreamKind::Blocking(name(legacy)),
            StreamKind::NonBlocking => StreamKind::NonBlocking,
        }
    }
}
