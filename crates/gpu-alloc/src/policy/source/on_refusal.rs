//! A say of the program's when a source has no more.

use std::fmt;

use super::{Adaptor, SourceDenial};

/// Calls a function when the source refuses: it may make room elsewhere, outside of the allocator, and
/// says whether to ask again. RMM has a `failure_callback_resource_adaptor` for that.
///
/// It is called each time, also where the policy would do without: one that gives back what it does
/// not need, or takes free memory from elsewhere, does so after the first refusal, and then asks for
/// less or once more. It runs under the allocator's lock: it must not call this crate's functions,
/// nor wait for a thread that does. It is asked again about what is refused again, so it must not
/// say yes for ever. A source that fails in another way is not asked again.
///
/// ```
/// use gpu_alloc::policy::{Address, Limit, MemorySource, OnRefusal, SourceError, Adapted};
/// # struct Rising(u64);
/// # impl MemorySource for Rising {
/// #     type Error = std::convert::Infallible;
/// #     fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<Self::Error>> {
/// #         self.0 += bytes;
/// #         Ok(Address(self.0))
/// #     }
/// #     fn release(&mut self, _: Address, _: u64) {}
/// # }
///
/// let mut refused = Vec::new();
/// let limited = Limit::new(Rising(1 << 32), Some(1 << 20));
/// let mut source = Adapted::around(
///     limited,
///     OnRefusal(|what: &gpu_alloc::policy::SourceDenial| {
///         refused.push(what.bytes);
///         false // nothing can be done
///     }),
/// );
/// assert!(source.allocate(1 << 20).is_ok());
/// assert!(source.allocate(2 << 20).is_err());
/// assert_eq!(refused, [2 << 20]);
/// ```
#[derive(Clone, Copy)]
pub struct OnRefusal<F>(
    /// The function that is called.
    pub F,
);

impl<F: FnMut(&SourceDenial) -> bool> Adaptor for OnRefusal<F> {
    fn ask_again(&mut self, refused: &SourceDenial) -> bool {
        (self.0)(refused)
    }
}

impl<F> fmt::Debug for OnRefusal<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRefusal").finish_non_exhaustive()
    }
}
