//! Handles: numbers that look like pointers to the program and are never followed.

use std::sync::Arc;

use parking_lot::RwLock;

/// The kind of object that a handle names. It is part of the number, so that no handle is taken for
/// one of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HandleKind {
    Context = 1,
    Stream = 2,
    Event = 3,
    Module = 4,
    Function = 5,
    Library = 6,
    Kernel = 7,
    Linker = 8,
    Pool = 16,
    Array = 17,
    Graph = 32,
    GraphNode = 33,
    Executable = 34,
    UserObject = 35,
}

impl HandleKind {
    /// The name of an object of the kind in reports of leaks; none for kinds that are not reported.
    fn leaks_as(self) -> Option<&'static str> {
        match self {
            HandleKind::Stream => Some("stream"),
            HandleKind::Event => Some("event"),
            HandleKind::Module => Some("module"),
            _ => None,
        }
    }
}

/// The living objects of one kind, by handle.
///
/// A place is used again under a new number, so an old handle names nothing, rather than a
/// stranger. Numbers have 24 bits: a handle that a program keeps while its place is used again
/// 16,777,216 times names whatever is there then. Handles are not 0, 1 or 2, which name default
/// streams.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    kind: HandleKind,
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    slots: Vec<HandleSlot<T>>,
    vacant: Vec<usize>,
}

#[derive(Debug)]
struct HandleSlot<T> {
    generation: u64,
    object: Option<Arc<T>>,
}

const INDEX_BITS: u32 = 24;
const GENERATION_BITS: u32 = 24;
const ALIGNMENT_BITS: u32 = 4;

impl<T> Registry<T> {
    /// An empty registry.
    pub(crate) const fn new(kind: HandleKind) -> Registry<T> {
        Registry { kind, slots: RwLock::new(Slots { slots: Vec::new(), vacant: Vec::new() }) }
    }

    /// Registers what `make` makes of its handle. `None` when 16 million objects live.
    pub(crate) fn insert(&self, make: impl FnOnce(u64) -> T) -> Option<(u64, Arc<T>)> {
        let handle = self.reserve()?;
        let object = Arc::new(make(handle));
        self.fill(handle, Arc::clone(&object));
        if let Some(what) = self.kind.leaks_as() {
            cuda_check::made(what, handle);
        }
        Some((handle, object))
    }

    /// A handle that names nothing yet.
    pub(crate) fn reserve(&self) -> Option<u64> {
        let mut slots = self.slots.write();
        let index = slots.vacant.pop().unwrap_or(slots.slots.len());
        if index >> INDEX_BITS != 0 {
            return None;
        }
        if index == slots.slots.len() {
            slots.slots.push(HandleSlot { generation: 0, object: None });
        }
        Some(self.handle(index, slots.slots[index].generation))
    }

    /// Makes a reserved handle name `object`.
    pub(crate) fn fill(&self, handle: u64, object: Arc<T>) {
        self.replace(handle, Some(object));
    }

    /// Makes a handle name nothing, but keeps it for its owner.
    pub(crate) fn vacate(&self, handle: u64) -> Option<Arc<T>> {
        self.replace(handle, None)
    }

    /// The object that a handle names.
    pub(crate) fn get(&self, handle: u64) -> Option<Arc<T>> {
        let slots = self.slots.read();
        slots
            .slots
            .get(self.index(handle)?)
            .filter(|slot| self.is_current(slot, handle))?
            .object
            .clone()
    }

    /// The first object that is `wanted`.
    pub(crate) fn find(&self, wanted: impl Fn(&T) -> bool) -> Option<Arc<T>> {
        let slots = self.slots.read();
        let mut objects = slots.slots.iter().filter_map(|slot| slot.object.as_ref());
        objects.find(|object| wanted(object)).cloned()
    }

    /// The handle of an object, as long as it has one.
    pub(crate) fn handle_of(&self, object: &Arc<T>) -> Option<u64> {
        let slots = self.slots.read();
        let is_it =
            |slot: &HandleSlot<T>| slot.object.as_ref().is_some_and(|own| Arc::ptr_eq(own, object));
        let index = slots.slots.iter().position(is_it)?;
        Some(self.handle(index, slots.slots[index].generation))
    }

    /// All objects.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        let slots = self.slots.read();
        slots.slots.iter().filter_map(|slot| slot.object.clone()).collect()
    }

    /// Forgets a handle for good.
    pub(crate) fn remove(&self, handle: u64) -> Option<Arc<T>> {
        let index = self.index(handle)?;
        let mut slots = self.slots.write();
        let slot = slots.slots.get_mut(index).filter(|slot| self.is_current(slot, handle))?;
        let object = slot.object.take()?;
        cuda_check::taken_back(handle);
        slot.generation = (slot.generation + 1) & mask(GENERATION_BITS);
        slots.vacant.push(index);
        Some(object)
    }

    /// Forgets all objects that `leaving` picks, and returns them, to be dropped outside all locks.
    pub(crate) fn remove_all(&self, leaving: impl Fn(&T) -> bool) -> Vec<Arc<T>> {
        let handles = self.handles(leaving);
        handles.into_iter().filter_map(|handle| self.remove(handle)).collect()
    }

    /// The handles of all objects that are `wanted`.
    pub(crate) fn handles(&self, wanted: impl Fn(&T) -> bool) -> Vec<u64> {
        let slots = self.slots.read();
        let picks = |slot: &HandleSlot<T>| slot.object.as_deref().is_some_and(&wanted);
        let picked = slots.slots.iter().enumerate().filter(|(_, slot)| picks(slot));
        picked.map(|(index, slot)| self.handle(index, slot.generation)).collect()
    }

    /// The number of living objects.
    pub(crate) fn len(&self) -> usize {
        let slots = self.slots.read();
        slots.slots.iter().filter(|slot| slot.object.is_some()).count()
    }

    fn replace(&self, handle: u64, object: Option<Arc<T>>) -> Option<Arc<T>> {
        let index = self.index(handle)?;
        let mut slots = self.slots.write();
        let slot = slots.slots.get_mut(index).filter(|slot| self.is_current(slot, handle))?;
        std::mem::replace(&mut slot.object, object)
    }

    fn handle(&self, index: usize, generation: u64) -> u64 {
        let kind = (self.kind as u64) << (INDEX_BITS + GENERATION_BITS + ALIGNMENT_BITS);
        kind | generation << (INDEX_BITS + ALIGNMENT_BITS) | (index as u64) << ALIGNMENT_BITS
    }

    fn index(&self, handle: u64) -> Option<usize> {
        let index = (handle >> ALIGNMENT_BITS & mask(INDEX_BITS)) as usize;
        let generation = handle >> (INDEX_BITS + ALIGNMENT_BITS) & mask(GENERATION_BITS);
        (self.handle(index, generation) == handle).then_some(index)
    }

    fn is_current(&self, slot: &HandleSlot<T>, handle: u64) -> bool {
        slot.generation == handle >> (INDEX_BITS + ALIGNMENT_BITS) & mask(GENERATION_BITS)
    }
}

const fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_handle_names_nothing_even_when_its_place_is_taken_again() {
        let registry = Registry::new(HandleKind::Event);
        let (old, _) = registry.insert(|_| "old").expect("room");
        assert_eq!(registry.remove(old).as_deref(), Some(&"old"));
        let (new, _) = registry.insert(|_| "new").expect("room");
        assert_ne!(old, new);
        assert_eq!(registry.get(old), None);
        assert_eq!(registry.remove(old), None);
        assert_eq!(registry.get(new).as_deref(), Some(&"new"));
    }

    #[test]
    fn a_handle_of_another_kind_names_nothing() {
        let events = Registry::new(HandleKind::Event);
        let streams = Registry::<u8>::new(HandleKind::Stream);
        let (event, _) = events.insert(|_| 1_u8).expect("room");
        let _ = streams.insert(|_| 2);
        assert_eq!(streams.get(event), None);
        for wild in [0, 1, 2, 16, u64::MAX, event + 1, event + 16] {
            assert_eq!(events.get(wild), None, "{wild:#x}");
        }
    }

    #[test]
    fn a_reserved_handle_keeps_its_number_from_one_object_to_the_next() {
        let registry = Registry::new(HandleKind::Context);
        let handle = registry.reserve().expect("room");
        assert_eq!(registry.get(handle), None);
        registry.fill(handle, Arc::new(1));
        assert_eq!(registry.vacate(handle).as_deref(), Some(&1));
        registry.fill(handle, Arc::new(2));
        assert_eq!(registry.get(handle).as_deref(), Some(&2));
        assert_eq!(registry.len(), 1);
    }
}
