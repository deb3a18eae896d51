//! Joining of nested samples, part by part: tuples, `Option`, `Vec` and maps.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::{BuildHasher, Hash};

use tensor::{Error, Result};

use super::Collate;

/// The slot of `Option`s, all of which are there or none.
pub struct OptionSlot<S> {
    inner: S,
    announced: usize,
    /// Whether the first sample is there, and so all others, too.
    is_present: Option<bool>,
}

impl<T: Collate> Collate for Option<T> {
    type Batch = Option<T::Batch>;
    type Slot = OptionSlot<T::Slot>;

    fn slot(pin_memory: bool) -> OptionSlot<T::Slot> {
        OptionSlot { inner: T::slot(pin_memory), announced: 0, is_present: None }
    }

    fn begin(slot: &mut OptionSlot<T::Slot>, samples: usize) {
        (slot.announced, slot.is_present) = (samples, None);
        T::begin(&mut slot.inner, 0);
    }

    fn put(self, slot: &mut OptionSlot<T::Slot>) -> Result<()> {
        match slot.is_present {
            None => {
                slot.is_present = Some(self.is_some());
                T::begin(&mut slot.inner, slot.announced);
            }
            Some(is_present) if is_present == self.is_some() => {}
            Some(_) => {
                return Err(unfit("an Option", "all samples of a batch have a value, or none has"));
            }
        }
        self.map_or(Ok(()), |present| present.put(&mut slot.inner))
    }

    fn finish(slot: &mut OptionSlot<T::Slot>) -> Result<Option<T::Batch>> {
        match slot.is_present {
            Some(true) => T::finish(&mut slot.inner).map(Some),
            Some(false) | None => Ok(None),
        }
    }
}

/// The slot of `Vec`s of one length: a slot for each place.
pub struct ListSlot<S> {
    pin_memory: bool,
    places: Vec<S>,
    announced: usize,
    /// The length of the first sample's.
    len: Option<usize>,
}

impl<T: Collate> Collate for Vec<T> {
    type Batch = Vec<T::Batch>;
    type Slot = ListSlot<T::Slot>;

    fn slot(pin_memory: bool) -> ListSlot<T::Slot> {
        ListSlot { pin_memory, places: Vec::new(), announced: 0, len: None }
    }

    fn begin(slot: &mut ListSlot<T::Slot>, samples: usize) {
        (slot.announced, slot.len) = (samples, None);
        slot.places.iter_mut().for_each(|place| T::begin(place, 0));
    }

    fn put(self, slot: &mut ListSlot<T::Slot>) -> Result<()> {
        let is_first = slot.len.is_none();
        let len = *slot.len.get_or_insert(self.len());
        if self.len() != len {
            let value = format!("lists of {len} and of {}", self.len());
            return Err(unfit(value, "all lists of a batch have the same length"));
        }
        for (index, part) in self.into_iter().enumerate() {
            if index == slot.places.len() {
                slot.places.push(T::slot(slot.pin_memory));
            }
            let place = &mut slot.places[index];
            if is_first {
                T::begin(place, slot.announced);
            }
            part.put(place)?;
        }
        Ok(())
    }

    fn finish(slot: &mut ListSlot<T::Slot>) -> Result<Vec<T::Batch>> {
        let len = slot.len.unwrap_or(0);
        slot.places.iter_mut().take(len).map(T::finish).collect()
    }
}

/// The slot of maps with the same keys: a slot for each key.
pub struct MapSlot<M> {
    pin_memory: bool,
    parts: M,
    announced: usize,
    /// The samples of this batch so far.
    added: usize,
    /// The number of the first sample's keys.
    keys: usize,
}

/// The slot of one key of a map.
pub struct KeySlot<S> {
    inner: S,
    /// The samples of this batch that had the key; `None` if the first one had it not.
    added: Option<usize>,
}

macro_rules! for_maps {
    ($($map:ident [$($generics:tt)*] [$($hasher:ident)?];)+) => {$(
        impl<$($generics)*, T: Collate> Collate for $map<K, T $(, $hasher)?> {
            type Batch = $map<K, T::Batch $(, $hasher)?>;
            type Slot = MapSlot<$map<K, KeySlot<T::Slot>>>;

            fn slot(pin_memory: bool) -> Self::Slot {
                MapSlot { pin_memory, parts: $map::new(), announced: 0, added: 0, keys: 0 }
            }

            fn begin(slot: &mut Self::Slot, samples: usize) {
                (slot.announced, slot.added, slot.keys) = (samples, 0, 0);
                // Keys of one batch that the one before it had not are no reason to keep memory.
                slot.parts.retain(|_, part| {
                    T::begin(&mut part.inner, 0);
                    part.added.take().is_some()
                });
            }

            fn put(self, slot: &mut Self::Slot) -> Result<()> {
                let mut keys = 0;
                for (key, value) in self {
                    keys += 1;
                    if slot.added == 0 {
                        let new = || KeySlot { inner: T::slot(slot.pin_memory), added: None };
                        let part = slot.parts.entry(key).or_insert_with(new);
                        T::begin(&mut part.inner, slot.announced);
                        value.put(&mut part.inner)?;
                        part.added = Some(1);
                        continue;
                    }
                    match slot.parts.get_mut(&key) {
                        Some(KeySlot { inner, added: Some(added) }) => {
                            value.put(inner)?;
                            *added += 1;
                        }
                        _ => return Err(missing(&key)),
                    }
                }
                if slot.added == 0 {
                    slot.keys = keys;
                }
                let lacks = |part: &KeySlot<T::Slot>| part.added == Some(slot.added);
                match slot.parts.iter().find(|(_, part)| keys < slot.keys && lacks(part)) {
                    Some((key, _)) => Err(missing(key)),
                    None => {
                        slot.added += 1;
                        Ok(())
                    }
                }
            }

            fn finish(slot: &mut Self::Slot) -> Result<Self::Batch> {
                let present = slot.parts.iter_mut().filter(|(_, part)| part.added.is_some());
                present.map(|(key, part)| Ok((key.clone(), T::finish(&mut part.inner)?))).collect()
            }
        }
    )+};
}
for_maps! {
    BTreeMap [K: Ord + Clone + fmt::Debug + Send] [];
    HashMap [K: Hash + Eq + Clone + fmt::Debug + Send, S: BuildHasher + Default] [S];
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt),+))+) => {$(
        impl<$($part: Collate),+> Collate for ($($part,)+) {
            type Batch = ($($part::Batch,)+);
            type Slot = ($($part::Slot,)+);

            fn slot(pin_memory: bool) -> Self::Slot {
                ($($part::slot(pin_memory),)+)
            }

            fn begin(slot: &mut Self::Slot, samples: usize) {
                $($part::begin(&mut slot.$index, samples);)+
            }

            fn put(self, slot: &mut Self::Slot) -> Result<()> {
                $(self.$index.put(&mut slot.$index)?;)+
                Ok(())
            }

            fn finish(slot: &mut Self::Slot) -> Result<Self::Batch> {
                Ok(($($part::finish(&mut slot.$index)?,)+))
            }
        }
    )+};
}
for_tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

fn missing(key: &impl fmt::Debug) -> Error {
    unfit(format!("the key {key:?}"), "every sample of a batch must have it")
}

fn unfit(value: impl Into<String>, why: &'static str) -> Error {
    Error::InvalidArgument { op: "collate", argument: "samples", value: value.into(), why }
}
