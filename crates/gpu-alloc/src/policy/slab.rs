//! Storage for records that point at each other: a vector with stable indices and a list of the
//! vacant ones.

use std::num::NonZero;
use std::ops::{Index, IndexMut};

/// The place of a record in its slab.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Slot(NonZero<u32>);

impl Slot {
    /// Orders after every slot in use; the end of a range of keys that end in a slot.
    pub(super) const LAST: Slot = Slot(NonZero::<u32>::MAX);
    /// Orders before every other slot, or is the first one itself.
    pub(super) const FIRST: Slot = Slot(NonZero::<u32>::MIN);

    pub(super) fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// The slot of the record at `index`. There are fewer than 2³² records, as each stands for
    /// memory of 512 bytes or more.
    fn at(index: usize) -> Slot {
        let number = u32::try_from(index + 1).ok().and_then(NonZero::new);
        Slot(number.expect("a slab has fewer than 2^32 records"))
    }
}

#[derive(Debug)]
pub(super) struct Slab<T> {
    records: Vec<Option<T>>,
    vacant: Vec<Slot>,
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, record: T) -> Slot {
        if let Some(slot) = self.vacant.pop() {
            self.records[slot.index()] = Some(record);
            return slot;
        }
        self.records.push(Some(record));
        Slot::at(self.records.len() - 1)
    }

    pub(super) fn remove(&mut self, slot: Slot) -> T {
        let record =
            self.records[slot.index()].take().expect("a slot is held for a live record only");
        self.vacant.push(slot);
        record
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&T> {
        self.records.get(slot.index())?.as_ref()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (Slot, &T)> {
        let slots = self.records.iter().enumerate();
        slots.filter_map(|(slot, record)| Some((Slot::at(slot), record.as_ref()?)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.records.iter().flatten()
    }
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Slab { records: Vec::new(), vacant: Vec::new() }
    }
}

impl<T> Index<Slot> for Slab<T> {
    type Output = T;

    fn index(&self, slot: Slot) -> &T {
        self.records[slot.index()].as_ref().expect("a slot is held for a live record only")
    }
}

impl<T> IndexMut<Slot> for Slab<T> {
    fn index_mut(&mut self, slot: Slot) -> &mut T {
        self.records[slot.index()].as_mut().expect("a slot is held for a live record only")
    }
}
