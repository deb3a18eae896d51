//! Sources and policies that a program puts in the place of the devices' own.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use gpu_runtime::Device;
use parking_lot::{Mutex, MutexGuard};

use super::choice::{AllocatorPolicy, PolicyChoice};
use super::device_policy::{BoxedSuballocator, MakeSuballocator};
use super::device_source::DeviceSource;
use super::policy_in_use::PolicyInUse;
use crate::error::{Error, Result};
use crate::policy::{MemorySource, Suballocator, TrustedSource};

/// A source for a device's allocator.
pub(crate) type BoxedSource = Box<dyn ErasedSource>;

/// The abilities of such a source.
pub(crate) trait ErasedSource:
    MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send
{
}

impl<S: MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send> ErasedSource for S {}

/// Everything that was put in place, until the allocators are made.
pub(crate) struct Overrides {
    /// The policy that the program has asked for, or else the environment, as far as that was looked
    /// at.
    choice: Option<PolicyChoice>,
    sources: BTreeMap<usize, BoxedSource>,
    /// The devices whose source is the program's.
    with_source: BTreeSet<usize>,
    suballocators: BTreeMap<usize, MakeSuballocator>,
    /// Whether the allocators were made.
    pub(crate) is_in_use: bool,
}

impl Overrides {
    /// The policy that is asked for.
    pub(crate) fn choice(&mut self) -> Result<&PolicyChoice> {
        let choice = match self.choice.take() {
            Some(choice) => choice,
            None => PolicyChoice::from_environment()?,
        };
        Ok(self.choice.insert(choice))
    }

    /// The policy for a device, as far as is known by now.
    pub(crate) fn policy_for(&mut self, device: Device) -> Result<PolicyInUse> {
        if self.suballocators.contains_key(&device.index()) {
            return Ok(PolicyInUse::Suballocated);
        }
        let has_virtual_memory = self.source(device).virtual_memory().is_some();
        Ok(self.choice()?.for_memory(has_virtual_memory))
    }

    /// The source for a device.
    fn source(&mut self, device: Device) -> &mut BoxedSource {
        self.sources.entry(device.index()).or_insert_with(|| Box::new(DeviceSource::new(device)))
    }

    /// The same, to keep.
    pub(crate) fn take_source(&mut self, device: Device) -> BoxedSource {
        let overrides = self.sources.remove(&device.index());
        overrides.unwrap_or_else(|| Box::new(DeviceSource::new(device)))
    }

    /// Whether the program has put a source in the place of a device's own.
    pub(crate) fn has_source(&self, device: Device) -> bool {
        self.with_source.contains(&device.index())
    }

    /// The function that makes the suballocators of a device, if it has its own.
    pub(crate) fn take_suballocator(&mut self, device: Device) -> Option<MakeSuballocator> {
        self.suballocators.remove(&device.index())
    }
}

/// Makes a device's allocator take its memory from `source` and not from the driver, as PyTorch's
/// `change_current_allocator` does: from another library's allocator, or from a
/// [`DeviceSource`] in adaptors, such as [`Limit`](crate::policy::Limit) or one of the program's own.
///
/// The policy still keeps what is freed, and shares out what the source provides: memory of that
/// device, in whole segments, or as virtual memory where the source has some. All work on memory is
/// known to be done when it goes back to the source. The limits and tools of this crate go on working.
///
/// # What is vouched for
/// Work is run on the addresses that a source provides, so one of the program's own has to be
/// [`Trusted`](gpu_runtime::Trusted). Whoever vouches for it says that
/// - each range that it provides is memory which kernels and copies of that device can read and
///   write, all of it, from when it is provided until it was taken back;
/// - nobody else reads or writes it meanwhile, and it overlaps nothing else that was provided and not
///   taken back, here or for another device;
/// - its [virtual memory](crate::policy::VirtualMemorySource), if it has any, does what it is told, by the
///   rules that are written there: what is mapped where stays there until it is unmapped.
///
/// It is called while the allocator is locked, so it must not ask this crate for memory itself, which
/// would wait for ever. (That is no matter of safety.)
///
/// # Errors
/// [`Error::AllocatorInUse`] once the allocators are made: at the first allocation on any device, or
/// when a [memory fraction](crate::set_per_process_memory_fraction) is set.
/// [`Error::SourceOfOtherDevice`] for a [`DeviceSource`] of another device. One in an adaptor is not
/// seen through.
///
/// ```
/// use gpu_alloc::DeviceSource;
/// use gpu_alloc::policy::Limit;
/// use gpu_runtime::{Device, DriverChoice};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// let source = Limit::new(DeviceSource::new(device), Some(64 << 20));
/// gpu_alloc::set_memory_source(device, source)?;
///
/// let stream = device.current_stream()?;
/// let held = gpu_alloc::allocate(device, 60 << 20, &stream)?;
/// assert!(gpu_alloc::allocate(device, 60 << 20, &stream).is_err());
/// # drop(held);
/// # Ok(())
/// # }
/// ```
///
/// A source of the program's own, that nobody vouches for, is refused by the compiler:
///
/// ```compile_fail
/// use gpu_alloc::policy::{Address, MemorySource, SourceError};
///
/// #[derive(Debug)]
/// struct Anywhere;
///
/// impl MemorySource for Anywhere {
///     type Error = gpu_runtime::Error;
///
///     fn allocate(&mut self, _: u64) -> Result<Address, SourceError<Self::Error>> {
///         Ok(Address(0x1000))
///     }
///
///     fn release(&mut self, _: Address, _: u64) {}
/// }
///
/// gpu_alloc::set_memory_source(gpu_runtime::Device::get(0).unwrap(), Anywhere).unwrap();
/// ```
pub fn set_memory_source<S>(device: Device, source: impl TrustedSource<Source = S>) -> Result<()>
where
    S: MemorySource<Error = gpu_runtime::Error> + fmt::Debug + Send + 'static,
{
    let source = source.into_source();
    if let Some(known) = (&source as &dyn Any).downcast_ref::<DeviceSource>()
        && known.device() != device
    {
        return Err(Error::SourceOfOtherDevice { device, source_device: known.device() });
    }
    let mut overrides = before_use()?;
    let before = overrides.sources.insert(device.index(), Box::new(source));
    overrides.with_source.insert(device.index());
    // Its destructor is the program's, and may come here.
    drop(overrides);
    drop(before);
    Ok(())
}

/// Makes the devices' allocators follow `policy`, whatever the environment says. A policy of the
/// program's own is for [`set_suballocator`]. Where a device or
/// its [source](set_memory_source) has no virtual memory, they use plain segments all the same.
///
/// # Errors
/// [`Error::AllocatorInUse`] once the allocators are made: at the first allocation on any device, or
/// when a [memory fraction](crate::set_per_process_memory_fraction) is set.
///
/// ```
/// use gpu_alloc::AllocatorPolicy;
///
/// # gpu_runtime::choose_driver(gpu_runtime::DriverChoice::Software { devices: Some(1) })?;
/// gpu_alloc::set_allocator_policy(AllocatorPolicy::Pytorch("max_split_size_mb:32".parse()?))?;
/// let device = gpu_runtime::Device::get(0)?;
/// let memory = gpu_alloc::allocate(device, 1000, &device.current_stream()?)?;
/// assert_eq!(gpu_alloc::memory_stats(device).max_split_size, Some(32 << 20));
/// assert!(gpu_alloc::set_allocator_policy(AllocatorPolicy::Stitched).is_err());
/// # drop(memory);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn set_allocator_policy(policy: AllocatorPolicy) -> Result<()> {
    before_use()?.choice = Some(PolicyChoice::asked(policy));
    Ok(())
}

/// Has a device's memory shared out by the program's own [`Suballocator`], whatever policy the
/// program or the environment asks for. PyTorch has its `CUDAPluggableAllocator` for that, and RMM
/// its memory resources.
///
/// `make` makes one for the device, and one for each stream of each [pool](crate::MemoryPool), as
/// they are needed. The rest is as with any policy: memory comes from the device's
/// [source](set_memory_source), in plain segments, within the process's limit; work on different
/// streams stays in order, graphs have memory of their own; statistics, snapshots, the history and
/// out-of-memory errors tell what there is. What an allocator gets wrong is an error of the request:
/// where it places a block is believed only if that lies in a segment and overlaps no other block.
///
/// # Errors
/// [`Error::AllocatorInUse`] once the allocators are made: at the first allocation on any device, or
/// when a [memory fraction](crate::set_per_process_memory_fraction) is set.
///
/// ```
/// use gpu_alloc::policy::{Address, Suballocator};
/// use gpu_runtime::{Device, DriverChoice, StreamId};
///
/// /// One segment, handed out from its start on, and from the start again when all of it is free.
/// #[derive(Debug, Default)]
/// struct Arena {
///     segment: Option<Address>,
///     used: u64,
///     blocks: usize,
/// }
///
/// const BYTES: u64 = 64 << 20;
///
/// impl Suballocator for Arena {
///     fn allocate(
///         &mut self,
///         bytes: u64,
///         _: StreamId,
///         new_segment: &mut dyn FnMut(u64) -> Option<Address>,
///     ) -> Option<Address> {
///         if bytes > BYTES - self.used {
///             return None;
///         }
///         self.segment = self.segment.or_else(|| new_segment(BYTES));
///         let address = Address(self.segment?.0 + self.used);
///         self.used += bytes;
///         self.blocks += 1;
///         Some(address)
///     }
///
///     fn free(&mut self, _: Address, _: u64, _: StreamId) {
///         self.blocks -= 1;
///         if self.blocks == 0 {
///             self.used = 0;
///         }
///     }
///
///     fn give_up(&mut self, _: Address, _: u64) -> bool {
///         self.segment = None;
///         true
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// gpu_runtime::choose_driver(DriverChoice::Software { devices: Some(1) })?;
/// let device = Device::get(0)?;
/// gpu_alloc::set_suballocator(device, Arena::default)?;
///
/// let stream = device.current_stream()?;
/// let one = gpu_alloc::allocate(device, 1000, &stream)?;
/// let two = gpu_alloc::allocate(device, 1000, &stream)?;
/// assert_eq!(two.ptr().address() - one.ptr().address(), 1024);
/// assert_eq!(gpu_alloc::memory_reserved(device), BYTES as usize);
///
/// let refused = gpu_alloc::allocate(device, 64 << 20, &stream).unwrap_err();
/// println!("{refused}"); // who holds what
/// drop((one, two));
/// gpu_alloc::empty_cache()?;
/// assert_eq!(gpu_alloc::memory_reserved(device), 0);
/// # Ok(())
/// # }
/// ```
pub fn set_suballocator<A: Suballocator + fmt::Debug + Send + 'static>(
    device: Device,
    make: impl Fn() -> A + Send + 'static,
) -> Result<()> {
    let make = Box::new(move || Box::new(make()) as BoxedSuballocator);
    let before = before_use()?.suballocators.insert(device.index(), make);
    drop(before);
    Ok(())
}

/// Everything that was put in place so far. Held while the allocators are made, so that none is missed.
pub(crate) fn overrides() -> MutexGuard<'static, Overrides> {
    static PLUGGED: Mutex<Overrides> = Mutex::new(Overrides {
        choice: None,
        sources: BTreeMap::new(),
        with_source: BTreeSet::new(),
        suballocators: BTreeMap::new(),
        is_in_use: false,
    });
    PLUGGED.lock()
}

fn before_use() -> Result<MutexGuard<'static, Overrides>> {
    let overrides = overrides();
    if overrides.is_in_use { Err(Error::AllocatorInUse) } else { Ok(overrides) }
}
