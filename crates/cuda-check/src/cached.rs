//! What a library keeps for reuse: not given back when the process ends, and no leak of the program's.

use std::collections::HashSet;
use std::ops::Range;

use parking_lot::Mutex;

use super::check_kinds::CheckKinds;
use super::enabled;

/// Something of the driver's that a library keeps for reuse when the process ends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum CachedResource {
    /// An object, by its handle.
    Object(u64),
    /// All memory that lies in a range of addresses.
    Memory(Range<u64>),
}

/// Tells of each thing that is kept.
pub type CacheLister = fn(&mut dyn FnMut(CachedResource));

/// The objects that are kept as long as they exist.
static OBJECTS: Mutex<Option<HashSet<u64>>> = Mutex::new(None);
static TELLERS: Mutex<Vec<CacheLister>> = Mutex::new(Vec::new());

/// Notes that an object is kept for reuse as long as it exists.
pub fn keep_object(handle: u64) {
    if enabled::kinds().has(CheckKinds::LEAKS) {
        let mut objects = OBJECTS.lock();
        objects.get_or_insert_default().insert(handle);
    }
}

/// An object was destroyed; another one may have the same handle.
pub(crate) fn destroyed(handle: u64) {
    if let Some(objects) = OBJECTS.lock().as_mut() {
        objects.remove(&handle);
    }
}

/// Asks `who` when the process ends.
pub fn ask_at_the_end(who: CacheLister) {
    TELLERS.lock().push(who);
}

/// The objects and the memory that are kept when the process ends.
pub(crate) struct CachedResources {
    objects: HashSet<u64>,
    /// Ranges in ascending order, none of which touches the next.
    memory: Vec<Range<u64>>,
}

impl CachedResources {
    /// Asks everybody.
    pub(crate) fn ask() -> CachedResources {
        let known = OBJECTS.lock().clone();
        let (mut objects, mut ranges) = (known.unwrap_or_default(), Vec::new());
        let tellers = TELLERS.lock().clone();
        for tell in tellers {
            tell(&mut |kept| match kept {
                CachedResource::Object(handle) => _ = objects.insert(handle),
                CachedResource::Memory(range) => ranges.push(range),
            });
        }
        ranges.sort_by_key(|range| range.start);
        let mut memory: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match memory.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => memory.push(range),
            }
        }
        CachedResources { objects, memory }
    }

    pub(crate) fn has_object(&self, handle: u64) -> bool {
        self.objects.contains(&handle)
    }

    /// Whether all of the range is kept.
    pub(crate) fn has_memory(&self, range: &Range<u64>) -> bool {
        let after = self.memory.partition_point(|kept| kept.start <= range.start);
        after.checked_sub(1).is_some_and(|index| self.memory[index].end >= range.end)
    }
}
