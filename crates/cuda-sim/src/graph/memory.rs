//! Memory that graphs allocate and free. Its address is fixed when the node is made, and its bytes
//! are set aside then; launches only say when it is in use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cuda_sys::{CUmemAccessDesc, CUresult};

use crate::check;
use crate::device::{Allocation, Device, Purpose};
use crate::queue::{Failure, Job, Work};

/// The memory of one allocation node.
pub(crate) struct GraphMemory {
    pub(crate) allocation: Arc<Allocation>,
    pub(crate) device: &'static Device,
    /// Who else may access it, as the program said.
    pub(crate) access: Box<[CUmemAccessDesc]>,
}

/// All memory of graphs.
#[derive(Default)]
pub(crate) struct Memories {
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    entries: BTreeMap<u64, Entry>,
    /// The most that was in use and set aside, by device.
    high: BTreeMap<u32, [u64; 2]>,
}

struct Entry {
    memory: Weak<GraphMemory>,
    bytes: u64,
    device: u32,
    /// Keeps it while it is in use, also when its graph is gone.
    in_use: Option<Arc<GraphMemory>>,
    /// A node of a graph frees it.
    has_free_node: bool,
}

/// How much memory a device's graphs use, or have set aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Amount {
    Used,
    Reserved,
}

impl Memories {
    /// Sets memory aside for an allocation node.
    ///
    /// # Errors
    /// `CUDA_ERROR_OUT_OF_MEMORY`.
    pub(crate) fn reserve(
        &self,
        device: &'static Device,
        bytes: u64,
        owner: u64,
        access: Box<[CUmemAccessDesc]>,
    ) -> Result<Arc<GraphMemory>, CUresult> {
        let allocation = device.memory.allocate(bytes, owner, Purpose::Graph)?;
        let (address, ordinal) = (allocation.address, device.id.ordinal);
        let memory = Arc::new(GraphMemory { allocation, device, access });
        let mut books = self.books();
        books.entries.retain(|_, entry| entry.memory.strong_count() > 0);
        let entry = Entry {
            memory: Arc::downgrade(&memory),
            bytes,
            device: ordinal,
            in_use: None,
            has_free_node: false,
        };
        books.entries.insert(address, entry);
        books.note_high(ordinal);
        Ok(memory)
    }

    /// A node is to free it: it can be done in one place only.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an address that no allocation node gave, or that a node frees
    /// already.
    pub(crate) fn add_free_node(&self, address: u64) -> Result<Arc<GraphMemory>, CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let mut books = self.books();
        let entry = books.entries.get_mut(&address).filter(|entry| !entry.has_free_node);
        let entry = entry.ok_or(invalid)?;
        let memory = entry.memory.upgrade().ok_or(invalid)?;
        entry.has_free_node = true;
        Ok(memory)
    }

    /// A launch allocates it. `again` allows for what an earlier launch has left in use.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is in use.
    pub(super) fn begin(&self, memory: &Arc<GraphMemory>, again: bool) -> Result<(), CUresult> {
        let mut books = self.books();
        let entry = books.entries.get_mut(&memory.allocation.address);
        let entry = entry.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        if entry.in_use.is_some() && !again {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        entry.in_use = Some(Arc::clone(memory));
        let device = entry.device;
        books.note_high(device);
        Ok(())
    }

    /// It is freed, by a node or by a call. Returns what may be dropped when that is done.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` if it is not in use.
    pub(crate) fn end(&self, address: u64) -> Result<Arc<GraphMemory>, CUresult> {
        let mut books = self.books();
        let entry = books.entries.get_mut(&address);
        let in_use = entry.and_then(|entry| entry.in_use.take());
        in_use.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
    }

    /// As [`end`](Memories::end), by a call of the program's.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` too for what a node frees.
    pub(crate) fn free(&self, address: u64) -> Result<Arc<GraphMemory>, CUresult> {
        if self.books().entries.get(&address).is_some_and(|entry| entry.has_free_node) {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.end(address)
    }

    /// How much there is now, and how much there was at most.
    pub(crate) fn amounts(&self, device: u32, amount: Amount) -> (u64, u64) {
        let books = self.books();
        let high = books.high.get(&device).copied().unwrap_or_default();
        (books.sum(device, amount), high[amount as usize])
    }

    /// Forgets how much there was at most.
    pub(crate) fn reset_high(&self, device: u32, amount: Amount) {
        let mut books = self.books();
        let now = books.sum(device, amount);
        books.high.entry(device).or_default()[amount as usize] = now;
    }

    /// Forgets what belongs to a context that is going away.
    pub(super) fn orphan(&self, context: u64) {
        let is_lost = |memory: &Arc<GraphMemory>| memory.allocation.owner == context;
        let mut books = self.books();
        let in_use = books.entries.values_mut().map(|entry| &mut entry.in_use);
        let lost: Vec<_> = in_use.filter_map(|memory| memory.take_if(|own| is_lost(own))).collect();
        drop(books);
        drop(lost);
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        let forgotten = std::mem::take(&mut *self.books());
        drop(forgotten);
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn sum(&self, device: u32, amount: Amount) -> u64 {
        let counts = |entry: &&Entry| match amount {
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
    pub(crate) fn freeing(self: &Arc<GraphMemory>) -> Work {
        match check::ends(self.allocation.address, self) {
            Work::Nothing => Work::Job(Arc::clone(self) as Arc<dyn Job>),
            checked => checked,
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
