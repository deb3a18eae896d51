//! Storage for records that point at each other: a vector with stable indices and a list of the
//! vacant ones.

use std::num::NonZero;
use std::ops::{Index, IndexMut};

/// The place of a record in its slab, and the number of the slab where there are several.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SlabIndex(NonZero<u32>);

/// The bits that say which slab it is.
const SLAB_BITS: u32 = 5;

impl SlabIndex {
    /// Orders after every slot in use; the end of a range of keys that end in a slot.
    pub(super) const LAST: SlabIndex = SlabIndex(NonZero::<u32>::MAX);
    /// Orders before every other slot, or is the first one itself.
    pub(super) const FIRST: SlabIndex = SlabIndex(NonZero::<u32>::MIN);

    /// The slabs that can be told apart; one that is alone has number 0.
    pub(super) const SLABS: usize = 1 << SLAB_BITS;

    #[inline]
    pub(super) fn index(self) -> usize {
        (self.0.get() >> SLAB_BITS) as usize - 1
    }

    /// The number of the slab.
    #[inline]
    pub(super) fn slab(self) -> usize {
        self.0.get() as usize % SlabIndex::SLABS
    }

    /// The slot of the record at `index`. There are fewer than 2²⁷ records in a slab, as each stands
    /// for memory of 512 bytes or more.
    pub(super) fn at(slab: usize, index: usize) -> SlabIndex {
        let index =
            u32::try_from(index + 1).ok().filter(|index| index.leading_zeros() >= SLAB_BITS);
        let number = index.map(|index| index << SLAB_BITS | slab as u32).and_then(NonZero::new);
        SlabIndex(number.expect("a slab has fewer than 2^27 records"))
    }
}

#[derive(Debug)]
pub(super) struct Slab<T> {
    records: Vec<Option<T>>,
    vacant: Vec<SlabIndex>,
}

impl<T> Slab<T> {
    pub(super) fn insert(&mut self, record: T) -> SlabIndex {
        if let Some(slot) = self.vacant.pop() {
            self.records[slot.index()] = Some(record);
            return slot;
        }
        self.records.push(Some(record));
        SlabIndex::at(0, self.records.len() - 1)
    }

    pub(super) fn remove(&mut self, slot: SlabIndex) -> T {
        let record =
            self.records[slot.index()].take().expect("a slot is held for a live record only");
        self.vacant.push(slot);
        record
    }

    pub(super) fn get(&self, slot: SlabIndex) -> Option<&T> {
        self.records.get(slot.index())?.as_ref()
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = (SlabIndex, &T)> {
        let slots = self.records.iter().enumerate();
        slots.filter_map(|(slot, record)| Some((SlabIndex::at(0, slot), record.as_ref()?)))
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

impl<T> Index<SlabIndex> for Slab<T> {
    type Output = T;

    fn index(&self, slot: SlabIndex) -> &T {
        self.records[slot.index()].as_ref().expect("a slot is held for a live record only")
    }
}

impl<T> IndexMut<SlabIndex> for Slab<T> {
    fn index_mut(&mut self, slot: SlabIndex) -> &mut T {
        self.records[slot.index()].as_mut().expect("a slot is held for a live record only")
    }
}
