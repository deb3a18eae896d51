//! The policies over a device's memory, as a program of its own would run them.

use gpu_alloc::DeviceSource;
use gpu_alloc::policy::{
    Adapted, Adaptor, Address, BestFit, Block, Lending, Limit, Limiting, Log, MemorySource,
    Physical, Policy, PoolId, Pytorch, PytorchOptions, RequestKind, SourceCall, Stitched,
    StreamCaches, StreamName, Suballocated, Suballocator,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::Draw;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "gpu_alloc::policy::MemorySource::allocate", "gpu_alloc::policy::MemorySource::could_hold",
    "gpu_alloc::policy::MemorySource::release", "gpu_alloc::DeviceSource::new" => |d| {
        let mut source = DeviceSource::new(d.cuda()?);
        let _ = source.could_hold(d.word()?);
        let held = source.allocate(d.size()? as u64);
        source.release(Address(d.word()?), d.word()?);
        if let (Ok(address), true) = (held, d.flag()?) {
            source.release(address, d.word()?);
        }
        Some(())
    };
    "gpu_alloc::policy::VirtualMemorySource::create", "gpu_alloc::policy::VirtualMemorySource::destroy",
    "gpu_alloc::policy::VirtualMemorySource::map", "gpu_alloc::policy::VirtualMemorySource::reserve",
    "gpu_alloc::policy::VirtualMemorySource::set_access", "gpu_alloc::policy::VirtualMemorySource::unmap",
    "gpu_alloc::policy::VirtualMemorySource::unreserve" => |d| {
        let mut source = DeviceSource::new(d.cuda()?);
        let memory = source.virtual_memory()?;
        let page = memory.page_bytes();
        let reserved = memory.reserve(2 * page).ok()?;
        let created = memory.create(page).unwrap_or(Physical(7));
        for _ in 0..4 {
            let bytes = if d.flag()? { page } else { d.word()? };
            let address = if d.flag()? { reserved } else { Address(d.word()?) };
            let physical = if d.flag()? { created } else { Physical(d.word()?) };
            match d.rng().below(7) {
                0 => drop(memory.reserve(bytes)),
                1 => memory.unreserve(address, bytes),
                2 => drop(memory.create(bytes)),
                3 => memory.destroy(physical, bytes),
                4 => drop(memory.map(address, physical, bytes)),
                5 => drop(memory.set_access(address, bytes)),
                _ => memory.unmap(address, bytes),
            }
        }
        Some(())
    };
    "gpu_alloc::policy::BestFit::set_keep", "gpu_alloc::policy::Policy::allocate",
    "gpu_alloc::policy::Policy::free", "gpu_alloc::policy::Policy::tick" => |d| {
        let mut policy = BestFit::<u64>::new();
        policy.set_keep(d.word()?);
        driven(d, policy, |_| ())
    };
    "gpu_alloc::policy::Pytorch::with_options", "gpu_alloc::policy::Pytorch::set_memory_limit",
    "gpu_alloc::policy::PytorchOptions::with_expandable_segments" => |d| {
        let options = PytorchOptions::default().with_expandable_segments(d.flag()?);
        let mut policy = Pytorch::<u64>::with_options(options, d.word()?);
        policy.set_memory_limit(d.maybe_number()?);
        driven(d, policy, |d| (d.rng().below(3) as u64).into())
    };
    "gpu_alloc::policy::Policy::waits_for", "gpu_alloc::policy::Policy::waits_before_reuse",
    "gpu_alloc::policy::Policy::completed", "gpu_alloc::policy::Policy::release_cached",
    "gpu_alloc::policy::Policy::end_stream" => |d| {
        let policy = Stitched::<u64>::new();
        driven(d, policy, |d| (d.rng().below(3) as u64).into())
    };
    "gpu_alloc::policy::Pytorch::allocate_with" => |d| {
        let (mut policy, mut source) = (Pytorch::<u64>::new(), DeviceSource::new(d.cuda()?));
        for _ in 0..4 {
            let bytes = d.word()?;
            let block = policy.allocate_with(&mut source, bytes, 7.into(), |policy| {
                policy.completed(7, bytes);
            });
            let _ = block.ok().map(|block| policy.free(block, &[(9, bytes)]));
        }
        policy.release_cached(&mut source);
        Some(())
    };
    "gpu_alloc::policy::StreamCaches::allocate", "gpu_alloc::policy::StreamCaches::free",
    "gpu_alloc::policy::StreamCaches::lend", "gpu_alloc::policy::StreamCaches::recall",
    "gpu_alloc::policy::StreamCaches::waits_for", "gpu_alloc::policy::Lending::new",
    "gpu_alloc::policy::Policy::lend", "gpu_alloc::policy::Policy::take_back",
    "gpu_alloc::policy::Policy::end_pool" => |d| {
        let (mut policy, mut source) = (Stitched::<u32>::new(), DeviceSource::new(d.cuda()?));
        let caches = StreamCaches::<u32, u8>::new();
        let first = policy.allocate(&mut source, 1000, 1.into()).ok()?;
        let _ = policy.free(first, &[]);
        let (mut lending, mut held) = (Lending::new(policy), Vec::new());
        for _ in 0..8 {
            let stream = d.rng().below(3) as u32;
            match d.rng().below(5) {
                0 => drop(caches.lend(&mut lending, stream, |_| 0)),
                1 => drop(caches.recall(&mut lending, |_| ())),
                2 if !held.is_empty() => {
                    let block: Block = held.swap_remove(d.rng().below(held.len()));
                    let _ = caches.waits_for(&block);
                    held.extend(caches.free(block, &[(stream, d.word()?)]).err());
                }
                _ => held.extend(caches.allocate(stream, d.word()?, |note, _| *note += 1)),
            }
        }
        let policy = caches.recall(&mut lending, |_| ());
        policy.end_pool(PoolId(d.word()?), &[(3, d.word()?)]);
        for block in held {
            let _ = policy.free(block, &[]);
        }
        policy.release_cached(&mut source);
        Some(())
    };
    "gpu_alloc::policy::Suballocated::new", "gpu_alloc::set_suballocator" => |d| {
        let guess = d.word()?;
        // Refused, since the allocators are in use.
        let _ = gpu_alloc::set_suballocator(d.cuda()?, move || Sloppy(guess));
        driven(d, Suballocated::<Sloppy, u64>::new(move || Sloppy(guess)), |d| {
            (d.rng().below(3) as u64).into()
        })
    };
    "gpu_alloc::policy::Limit::new", "gpu_alloc::policy::Limit::set_limit",
    "gpu_alloc::policy::Limiting::new", "gpu_alloc::policy::Limiting::set_limit",
    "gpu_alloc::policy::Log::new", "gpu_alloc::policy::Adapted::around",
    "gpu_alloc::policy::Adaptor::admit", "gpu_alloc::policy::Adaptor::called" => |d| {
        let mut source = Log::new(Limit::new(DeviceSource::new(d.cuda()?), d.maybe_number()?));
        source.source_mut().set_limit(d.maybe_number()?);
        let _ = source.allocate(d.size()? as u64);
        let mut cap = Limiting::new(d.maybe_number()?);
        cap.set_limit(d.maybe_number()?);
        let (address, bytes) = (Address(d.word()?), d.word()?);
        cap.called(SourceCall::Released { address, bytes });
        let _ = cap.admit(RequestKind::Memory, d.word()?);
        let mut source = Adapted::around(source, cap);
        let _ = source.allocate(d.size()? as u64);
        source.release(Address(d.word()?), d.word()?);
        Some(())
    };
};

/// A program's own allocator that places blocks wherever it likes.
#[derive(Debug)]
struct Sloppy(u64);

impl<K: StreamName> Suballocator<K> for Sloppy {
    fn allocate(
        &mut self,
        bytes: u64,
        _: K,
        new_segment: &mut dyn FnMut(u64) -> Option<Address>,
    ) -> Option<Address> {
        self.0 = self.0.rotate_left(1);
        match self.0 % 4 {
            0 => Some(Address(self.0)),
            1 => new_segment(bytes),
            2 => new_segment(bytes.checked_mul(2)?).map(|Address(at)| Address(at + bytes / 2)),
            _ => new_segment(self.0),
        }
    }

    fn free(&mut self, _: Address, bytes: u64, _: K) {
        self.0 ^= bytes;
    }
}

/// Requests and frees of all sizes, on streams whose work ends at times, and everything else that
/// keeps house.
fn driven<P: Policy<Stream = u64>>(
    d: &mut Draw,
    mut policy: P,
    home: fn(&mut Draw) -> P::Owner,
) -> Option<()> {
    let mut source = DeviceSource::new(d.cuda()?);
    let mut held: Vec<Block> = Vec::new();
    for step in 0..12 {
        let stream = d.rng().below(3) as u64;
        match d.rng().below(8) {
            0..4 => {
                let home = home(d);
                let bytes =
                    if d.rng().one_in(3) { d.word()? } else { d.rng().below(5 << 20) as u64 };
                held.extend(policy.allocate(&mut source, bytes, home).ok());
            }
            4 | 5 if !held.is_empty() => {
                let block = held.swap_remove(d.rng().below(held.len()));
                let _ = (policy.waits_before_reuse(&block), policy.waits_for(&block).count());
                let _ = policy.free(block, &[(stream, step), (d.word()?, d.word()?)]);
            }
            6 => drop(policy.tick(&mut source, d.duration()?, d.duration()?)),
            _ => policy.completed(stream, d.word()?),
        }
    }
    policy.release_cached(&mut source);
    for block in held {
        let _ = policy.free(block, &[]);
    }
    policy.release_cached(&mut source);
    Some(())
}
