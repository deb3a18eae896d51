//! Requests to a source in numbers.

use super::{Adaptor, SourceCall};
use crate::policy::Statistic;

/// Counts what is taken from a source and given back, as RMM's `statistics_resource_adaptor` does.
///
/// To read it while the source is in use, put it around the source in an `Arc<Mutex<_>>`.
///
/// ```
/// use gpu_alloc::policy::{Address, MemorySource, SourceCounts, SourceError, Adapted};
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
/// let mut source = Adapted::around(Rising(1 << 32), SourceCounts::default());
/// let one = source.allocate(2 << 20).unwrap();
/// let two = source.allocate(4 << 20).unwrap();
/// source.release(one, 2 << 20);
/// let SourceCounts { segments, bytes, .. } = source.adaptor();
/// assert_eq!((segments.current, segments.peak), (1, 2));
/// assert_eq!((bytes.current, bytes.peak, bytes.allocated), (4 << 20, 6 << 20, 6 << 20));
/// # source.release(two, 4 << 20);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceCounts {
    /// Segments.
    pub segments: Statistic,
    /// Pieces of physical memory.
    pub pieces: Statistic,
    /// The bytes of both.
    pub bytes: Statistic,
    /// The bytes of reserved addresses.
    pub reserved_addresses: Statistic,
    /// The bytes that show physical memory.
    pub mapped_bytes: Statistic,
    /// The number of times that the source was asked for something, in vain or not, or got it back.
    pub calls: u64,
    /// The number of times that it was asked in vain.
    pub refusals: u64,
}

impl SourceCounts {
    /// Sets every peak to the current value.
    pub fn reset_peak(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_peak);
    }

    /// Sets all accumulated values and counts to zero.
    pub fn reset_accumulated(&mut self) {
        self.each().into_iter().for_each(Statistic::reset_accumulated);
        (self.calls, self.refusals) = (0, 0);
    }

    fn each(&mut self) -> [&mut Statistic; 5] {
        let Self { segments, pieces, bytes, reserved_addresses, mapped_bytes, .. } = self;
        [segments, pieces, bytes, reserved_addresses, mapped_bytes]
    }
}

impl Adaptor for SourceCounts {
    fn called(&mut self, call: SourceCall) {
        self.calls += 1;
        match call {
            SourceCall::Allocated { bytes, .. } => {
                self.segments.increase(1);
                self.bytes.increase(bytes);
            }
            SourceCall::Released { bytes, .. } => {
                self.segments.decrease(1);
                self.bytes.decrease(bytes);
            }
            SourceCall::Created { bytes, .. } => {
                self.pieces.increase(1);
                self.bytes.increase(bytes);
            }
            SourceCall::Destroyed { bytes, .. } => {
                self.pieces.decrease(1);
                self.bytes.decrease(bytes);
            }
            SourceCall::Reserved { bytes, .. } => self.reserved_addresses.increase(bytes),
            SourceCall::Unreserved { bytes, .. } => self.reserved_addresses.decrease(bytes),
            SourceCall::Mapped { bytes, .. } => self.mapped_bytes.increase(bytes),
            SourceCall::Unmapped { bytes, .. } => self.mapped_bytes.decrease(bytes),
            SourceCall::AccessSet { .. } => {}
            SourceCall::Refused { .. }
            | SourceCall::ReserveRefused { .. }
            | SourceCall::CreateRefused { .. }
            | SourceCall::MapRefused { .. }
            | SourceCall::AccessRefused { .. } => self.refusals += 1,
        }
    }
}
