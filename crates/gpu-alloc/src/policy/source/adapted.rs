//! Sources behind adaptors, which look on or have a say.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{
    KnownVirtualMemory, MemorySource, Physical, Refusal, RequestKind, SourceCall, SourceDenial,
    SourceError, Unable, VirtualMemorySource,
};
use crate::policy::Address;

/// An adaptor, which looks on at the calls of a source or has a say in them; [`Adapted`] makes a
/// source of both.
///
/// Each method does nothing by default. The adaptors of this crate are such values:
/// [`Limiting`](super::Limiting), [`Logging`](super::Logging), [`SourceCounts`](super::SourceCounts)
/// and [`OnRefusal`](super::OnRefusal). One in an `Arc<Mutex<_>>` can be looked at while its source
/// is in use elsewhere.
pub trait Adaptor {
    /// Whether the source may be asked for so many bytes of something, or, of [`RequestKind::Total`],
    /// could hold so many in all.
    ///
    /// # Errors
    /// The refusal that is told instead.
    fn admit(&mut self, kind: RequestKind, bytes: u64) -> Result<(), Refusal> {
        let _ = (kind, bytes);
        Ok(())
    }

    /// Learns how a call to the source went. What an adaptor refused itself was none.
    fn called(&mut self, call: SourceCall) {
        let _ = call;
    }

    /// Whether to ask once more for what was refused.
    fn ask_again(&mut self, refused: &SourceDenial) -> bool {
        let _ = refused;
        false
    }
}

impl<W: Adaptor> Adaptor for Arc<Mutex<W>> {
    fn admit(&mut self, kind: RequestKind, bytes: u64) -> Result<(), Refusal> {
        locked(self).admit(kind, bytes)
    }

    fn called(&mut self, call: SourceCall) {
        locked(self).called(call);
    }

    fn ask_again(&mut self, refused: &SourceDenial) -> bool {
        locked(self).ask_again(refused)
    }
}

/// The adaptor, also after another thread has panicked with it: it is as that thread left it.
fn locked<A>(adaptor: &Mutex<A>) -> MutexGuard<'_, A> {
    adaptor.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A source in an adaptor. It is a source itself, so adaptors compose: each sees the calls that the one
/// around it lets through. It has virtual memory if the source inside has.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use gpu_alloc::DeviceSource;
/// use gpu_alloc::policy::{Limiting, OnRefusal, SourceCounts, Adapted};
/// use gpu_runtime::{Device, DeviceAllocation, DriverChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// let total = device.memory_info()?.total;
///
/// // A cache of the program's own, past the allocator, that may go.
/// let mut cache = Some(DeviceAllocation::new(device, total / 2)?);
/// let counts = Arc::new(Mutex::new(SourceCounts::default()));
///
/// let source = DeviceSource::new(device);
/// let source = Adapted::around(source, Limiting::new(Some(total as u64 / 4 * 3)));
/// let source = Adapted::around(source, OnRefusal(move |_: &_| cache.take().is_some()));
/// let source = Adapted::around(source, Arc::clone(&counts));
/// gpu_alloc::set_memory_source(device, source)?;
///
/// let stream = device.current_stream()?;
/// let held = gpu_alloc::allocate(device, total / 8 * 5, &stream)?;
/// let taken = counts.lock().unwrap().bytes;
/// assert_eq!(taken.current, gpu_alloc::memory_reserved(device) as u64);
/// assert!(gpu_alloc::allocate(device, total / 4, &stream).is_err(), "the limit holds");
/// # drop(held);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Adapted<S, W>(Around<S, W>);

/// Both at work. They are apart so that nobody gets at the virtual memory but where the source has
/// some.
#[derive(Debug)]
struct Around<S, W> {
    source: S,
    adaptor: W,
    /// The page of the source's virtual memory, once somebody has asked for that.
    page_bytes: u64,
}

impl<S, W> Adapted<S, W> {
    /// Puts an adaptor around a source of which nothing has been taken yet.
    pub fn around(source: S, adaptor: W) -> Self {
        Adapted(Around { source, adaptor, page_bytes: 0 })
    }

    /// The adaptor.
    pub fn adaptor(&self) -> &W {
        &self.0.adaptor
    }

    /// The adaptor, to change.
    pub fn adaptor_mut(&mut self) -> &mut W {
        &mut self.0.adaptor
    }

    /// The source inside.
    pub fn source(&self) -> &S {
        &self.0.source
    }

    /// The source inside, to change. The adaptor does not learn of what is asked of it so.
    pub fn source_mut(&mut self) -> &mut S {
        &mut self.0.source
    }
}

impl<S: MemorySource, W: Adaptor> Around<S, W> {
    /// Asks the source for something, as often as the adaptor wants.
    fn ask<T>(
        &mut self,
        (kind, bytes): (RequestKind, u64),
        mut ask: impl FnMut(&mut S) -> Result<T, SourceError<S::Error>>,
        given: impl Fn(&T) -> SourceCall,
        not_given: SourceCall,
    ) -> Result<T, SourceError<S::Error>> {
        loop {
            let outcome = match self.adaptor.admit(kind, bytes) {
                Err(refusal) => Err(refusal.into()),
                Ok(()) => {
                    let outcome = ask(&mut self.source);
                    self.adaptor.called(outcome.as_ref().map_or(not_given, &given));
                    outcome
                }
            };
            let error = match outcome {
                Ok(given) => return Ok(given),
                Err(error) => error,
            };
            match Unable::to_get(kind, bytes)(error) {
                Unable::Refused(refused) if self.adaptor.ask_again(&refused) => {}
                Unable::Refused(SourceDenial { refusal, .. }) => return Err(refusal.into()),
                Unable::Failed(failure) => return Err(SourceError::Failed(failure)),
            }
        }
    }
}

impl<S: MemorySource, W: Adaptor> MemorySource for Adapted<S, W> {
    type Error = S::Error;

    fn allocate(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        self.0.ask(
            (RequestKind::Segment, bytes),
            |source| source.allocate(bytes),
            |address| SourceCall::Allocated { address: *address, bytes },
            SourceCall::Refused { bytes },
        )
    }

    fn release(&mut self, address: Address, bytes: u64) {
        self.0.source.release(address, bytes);
        self.0.adaptor.called(SourceCall::Released { address, bytes });
    }

    fn could_hold(&mut self, bytes: u64) -> Result<(), Refusal> {
        let Around { source, adaptor, .. } = &mut self.0;
        loop {
            let outcome = adaptor.admit(RequestKind::Total, bytes);
            let Err(refusal) = outcome.and_then(|()| source.could_hold(bytes)) else {
                return Ok(());
            };
            if !adaptor.ask_again(&SourceDenial {
                kind: RequestKind::Total,
                bytes,
                refusal,
                given: 0,
            }) {
                return Err(refusal);
            }
        }
    }

    fn virtual_memory(&mut self) -> Option<&mut dyn VirtualMemorySource<Error = S::Error>> {
        self.0.page_bytes = self.0.source.virtual_memory()?.page_bytes();
        Some(&mut self.0)
    }
}

impl<S: MemorySource, W: Adaptor> VirtualMemorySource for Around<S, W> {
    type Error = S::Error;

    fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    fn reserve(&mut self, bytes: u64) -> Result<Address, SourceError<S::Error>> {
        self.ask(
            (RequestKind::Addresses, bytes),
            |source| source.known_virtual_memory().reserve(bytes),
            |address| SourceCall::Reserved { address: *address, bytes },
            SourceCall::ReserveRefused { bytes },
        )
    }

    fn unreserve(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unreserve(address, bytes);
        self.adaptor.called(SourceCall::Unreserved { address, bytes });
    }

    fn create(&mut self, bytes: u64) -> Result<Physical, SourceError<S::Error>> {
        self.ask(
            (RequestKind::Memory, bytes),
            |source| source.known_virtual_memory().create(bytes),
            |physical| SourceCall::Created { physical: *physical, bytes },
            SourceCall::CreateRefused { bytes },
        )
    }

    fn destroy(&mut self, physical: Physical, bytes: u64) {
        self.source.known_virtual_memory().destroy(physical, bytes);
        self.adaptor.called(SourceCall::Destroyed { physical, bytes });
    }

    fn map(
        &mut self,
        address: Address,
        physical: Physical,
        bytes: u64,
    ) -> Result<(), SourceError<S::Error>> {
        self.ask(
            (RequestKind::Mapping, bytes),
            |source| source.known_virtual_memory().map(address, physical, bytes),
            |()| SourceCall::Mapped { address, physical, bytes },
            SourceCall::MapRefused { address, physical },
        )
    }

    fn set_access(&mut self, address: Address, bytes: u64) -> Result<(), SourceError<S::Error>> {
        self.ask(
            (RequestKind::Mapping, bytes),
            |source| source.known_virtual_memory().set_access(address, bytes),
            |()| SourceCall::AccessSet { address, bytes },
            SourceCall::AccessRefused { address, bytes },
        )
    }

    fn unmap(&mut self, address: Address, bytes: u64) {
        self.source.known_virtual_memory().unmap(address, bytes);
        self.adaptor.called(SourceCall::Unmapped { address, bytes });
    }
}
