//! Memory that graphs allocate and free. Its address is fixed when the node is made, and its bytes
//! are set aside then; launches only say when it is in use.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use cuda_sys::{CUmemAccessDesc, CUresult};
use parking_lot::{Mutex, MutexGuard};

use crate::device::{Device, GlobalAllocation, Purpose, free_work};
use crate::queue::{Failure, Job, StreamWork};

/// The memory of one allocation node.
pub(crate) struct GraphMemory {
    pub(crate) allocation: Arc<GlobalAllocation>,
    pub(crate) device: &'static Device,
    /// The access of other devices, as the program asked for it and may read it again.
    pub(crate) access: Box<[CUmemAccessDesc]>,
}

/// All memory of graphs.
pub(crate) struct Memories {
    table: Mutex<GraphMemoryTable>,
}

#[derive(Default)]
struct GraphMemoryTable {
    entries: BTreeMap<u64, GraphMemoryEntry>,
    /// The most that was in use and set aside, by device.
    high: BTreeMap<u32, [u64; 2]>,
}

struct GraphMemoryEntry {
    memory: Weak<GraphMemory>,
    bytes: u64,
    device: u32,
    /// Keeps it while it is in use, also when its graph is gone.
    in_use: Option<Arc<GraphMemory>>,
    /// A node of a graph frees it.
    has_free_node: bool,
}

/// The right of a free node to free it. The program has it when the node is gone, with all copies
/// that launches use.
pub(crate) struct RightToFree {
    pub(crate) memory: Arc<GraphMemory>,
    memories: &'static Memories,
}

/// A launch's allocation or release of a node's memory.
pub(super) enum Use<'a> {
    Allocates(&'a Arc<GraphMemory>),
    Frees(&'a RightToFree),
}

/// The two amounts of memory that a device's graphs have (`CUgraphMem_attribute`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Used,
    Reserved,
}

impl Memories {
    /// None.
    pub(super) const fn new() -> Memories {
        let table = GraphMemoryTable { entries: BTreeMap::new(), high: BTreeMap::new() };
        Memories { table: Mutex::new(table) }
    }

    /// Sets memory aside for an allocation node, which may be managed.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn reserve(
        &self,
        device: &'static Device,
        bytes: u64,
        owner: u64,
        access: Box<[CUmemAccessDesc]>,
        is_managed: bool,
    ) -> Result<Arc<GraphMemory>, CUresult> {
        let allocation = match is_managed {
            true => device.memory.allocate_managed(bytes, owner, Purpose::Graph)?,
            false => device.memory.allocate(bytes, owner, Purpose::Graph)?,
        };
        let (address, ordinal) = (allocation.address, device.id.ordinal);
        let memory = Arc::new(GraphMemory { allocation, device, access });
        let mut table = self.table();
        table.entries.retain(|_, entry| entry.memory.strong_count() > 0);
        let entry = GraphMemoryEntry {
            memory: Arc::downgrade(&memory),
            bytes,
            device: ordinal,
            in_use: None,
            has_free_node: false,
        };
        table.entries.insert(address, entry);
        table.note_high(ordinal);
        Ok(memory)
    }

    /// The right to free it, for a node: it can be done in one place only.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an address that no allocation node gave, or that a node frees
    /// already.
    pub(crate) fn right_to_free(&'static self, address: u64) -> Result<Arc<RightToFree>, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut table = self.table();
        let entry = table.entries.get_mut(&address).filter(|entry| !entry.has_free_node);
        let entry = entry.ok_or(invalid)?;
        let memory = entry.memory.upgrade().ok_or(invalid)?;
        entry.has_free_node = true;
        Ok(Arc::new(RightToFree { memory, memories: self }))
    }

    /// A launch allocates and frees memory in that order: all of it, or none if that is not
    /// possible. `again` allows for what an earlier launch has left in use.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it would allocate what is in use, or free what is not.
    pub(super) fn launch(&self, uses: &[Use<'_>], again: bool) -> Result<(), CUresult> {
        if uses.is_empty() {
            return Ok(());
        }
        let mut table = self.table();
        table.check(uses, again)?;
        let mut before = Vec::new();
        for used in uses {
            let Some(entry) = table.entries.get_mut(&used.address()) else { continue };
            let device = entry.device;
            before.extend(match used {
                Use::Allocates(memory) => entry.in_use.replace(Arc::clone(memory)),
                Use::Frees(_) => entry.in_use.take(),
            });
            table.note_high(device);
        }
        drop(table);
        drop(before);
        Ok(())
    }

    /// It is freed by a call of the program's. Returns what may be dropped when that is done.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is not in use, or if a node frees it.
    pub(crate) fn free(&self, address: u64) -> Result<Arc<GraphMemory>, CUresult> {
        let mut table = self.table();
        let entry = table.entries.get_mut(&address).filter(|entry| !entry.has_free_node);
        let in_use = entry.and_then(|entry| entry.in_use.take());
        in_use.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// An amount of a device's memory now, and its highest value so far.
    pub(crate) fn amounts(&self, device: u32, amount: Amount) -> (u64, u64) {
        let table = self.table();
        let high = table.high.get(&device).copied().unwrap_or_default();
        (table.sum(device, amount), high[amount as usize])
    }

    /// Forgets how much there was at most.
    pub(crate) fn reset_high(&self, device: u32, amount: Amount) {
        let mut table = self.table();
        let now = table.sum(device, amount);
        table.high.entry(device).or_default()[amount as usize] = now;
    }

    /// Forgets what belongs to a context that is going away.
    pub(super) fn orphan(&self, context: u64) {
        let is_lost = |memory: &Arc<GraphMemory>| memory.allocation.owner == context;
        let mut table = self.table();
        let in_use = table.entries.values_mut().map(|entry| &mut entry.in_use);
        let lost: Vec<_> = in_use.filter_map(|memory| memory.take_if(|own| is_lost(own))).collect();
        drop(table);
        drop(lost);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        let forgotten = std::mem::take(&mut *self.table());
        drop(forgotten);
    }

    fn table(&self) -> MutexGuard<'_, GraphMemoryTable> {
        self.table.lock()
    }
}

impl Use<'_> {
    fn address(&self) -> u64 {
        match self {
            Use::Allocates(memory) => memory.allocation.address,
            Use::Frees(right) => right.memory.allocation.address,
        }
    }
}

impl GraphMemoryTable {
    /// Whether a launch can use memory so.
    fn check(&self, uses: &[Use<'_>], again: bool) -> Result<(), CUresult> {
        let mut in_use = BTreeMap::new();
        for used in uses {
            let address = used.address();
            let entry = self.entries.get(&address).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
            let is_in_use = in_use.entry(address).or_insert(entry.in_use.is_some());
            let allocates = matches!(used, Use::Allocates(_));
            if *is_in_use == allocates && !(allocates && again) {
                return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
            }
            *is_in_use = allocates;
        }
        Ok(())
    }

    fn sum(&self, device: u32, amount: Amount) -> u64 {
        let counts = |entry: &&GraphMemoryEntry| match amount {
            Amount::Used => entry.device == device && entry.in_use.is_some(),
            Amount::Reserved => entry.device == device && entry.memory.strong_count() > 0,
        };
        self.entries.values().filter(counts).map(|entry| entry.bytes).sum()
    }

    fn note_high(&mut self, device: u32) {
        let now = [Amount::Used, Amount::Reserved].map(|amount| self.sum(device, amount));
        let high = self.high.entry(device).or_default();
        high.iter_mut().zip(now).for_each(|(high, now)| *high = now.max(*high));
    }
}

impl GraphMemory {
    /// The work of a free node or call.
    pub(crate) fn freeing(self: &Arc<GraphMemory>) -> StreamWork {
        match free_work(self.allocation.address, self) {
            StreamWork::Nothing => StreamWork::Job(Arc::clone(self) as Arc<dyn Job>),
            checked => checked,
        }
    }
}

impl Drop for RightToFree {
    fn drop(&mut self) {
        let mut table = self.memories.table();
        let entry = table.entries.get_mut(&self.memory.allocation.address);
        let is_it =
            |entry: &&mut GraphMemoryEntry| entry.memory.as_ptr() == Arc::as_ptr(&self.memory);
        if let Some(entry) = entry.filter(is_it) {
            entry.has_free_node = false;
        }
    }
}

impl Drop for GraphMemory {
    fn drop(&mut self) {
        // It may have gone with its context.
        self.device.memory.free(&self.allocation);
    }
}

/// The work of a free node or call: it lets go of the memory when its turn has come.
impl Job for GraphMemory {
    fn pieces(&self) -> u64 {
        1
    }

    fn is_heavy(&self) -> bool {
        false
    }

    fn run(&self, _: std::ops::Range<u64>) -> Result<(), Failure> {
        Ok(())
    }
}
