//! Sources whose word devices rely on.

use gpu_runtime::Trusted;

use super::{Adapted, Adaptor, MemorySource};

/// A source that can be [put in the place](crate::set_memory_source) of a device's own source: the
/// driver's memory, also in [adaptors](Adapted), which can refuse memory and make none up; and
/// whatever somebody has [vouched](Trusted) for.
pub trait TrustedSource: Sealed {
    /// The source itself.
    type Source: MemorySource;

    /// The source, to be used by the one that it was given to.
    fn into_source(self) -> Self::Source;
}

/// Nobody else says of a source that it can be trusted.
pub trait Sealed {}

impl<T> Sealed for Trusted<T> {}

impl<S: Sealed, W> Sealed for Adapted<S, W> {}

impl<S: TrustedSource<Source = S> + MemorySource, W: Adaptor> TrustedSource for Adapted<S, W> {
    type Source = Adapted<S, W>;

    fn into_source(self) -> Adapted<S, W> {
        self
    }
}

impl<S: MemorySource> TrustedSource for Trusted<S> {
    type Source = S;

    fn into_source(self) -> S {
        self.into_inner()
    }
}
