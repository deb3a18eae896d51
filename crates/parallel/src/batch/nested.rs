//! Pinning and moving of nested batches: tuples, `Vec`, `Option` and maps. Text and numbers stay as
//! they are.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use tensor::{Blocking, Device, Result};

use super::{PinMemory, ToDevice};

impl<T: PinMemory> PinMemory for Vec<T> {
    fn into_pinned(self) -> Result<Self> {
        self.into_iter().map(T::into_pinned).collect()
    }
}

impl<T: ToDevice> ToDevice for Vec<T> {
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|part| part.into_device(device, blocking)).collect()
    }
}

impl<T: PinMemory> PinMemory for Option<T> {
    fn into_pinned(self) -> Result<Self> {
        self.map(T::into_pinned).transpose()
    }
}

impl<T: ToDevice> ToDevice for Option<T> {
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.map(|part| part.into_device(device, blocking)).transpose()
    }
}

impl<K: Ord, T: PinMemory> PinMemory for BTreeMap<K, T> {
    fn into_pinned(self) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.into_pinned()?))).collect()
    }
}

impl<K: Ord, T: ToDevice> ToDevice for BTreeMap<K, T> {
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.into_device(device, blocking)?))).collect()
    }
}

impl<K: Hash + Eq, T: PinMemory, S: BuildHasher + Default> PinMemory for HashMap<K, T, S> {
    fn into_pinned(self) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.into_pinned()?))).collect()
    }
}

impl<K: Hash + Eq, T: ToDevice, S: BuildHasher + Default> ToDevice for HashMap<K, T, S> {
    fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.into_device(device, blocking)?))).collect()
    }
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt),+))+) => {$(
        impl<$($part: PinMemory),+> PinMemory for ($($part,)+) {
            fn into_pinned(self) -> Result<Self> {
                Ok(($(self.$index.into_pinned()?,)+))
            }
        }

        impl<$($part: ToDevice),+> ToDevice for ($($part,)+) {
            fn into_device(self, device: Device, blocking: Blocking) -> Result<Self> {
                Ok(($(self.$index.into_device(device, blocking)?,)+))
            }
        }
    )+};
}
for_tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

macro_rules! unchanged {
    ($($type:ty)+) => {$(
        impl PinMemory for $type {
            fn into_pinned(self) -> Result<Self> {
                Ok(self)
            }
        }

        impl ToDevice for $type {
            fn into_device(self, _: Device, _: Blocking) -> Result<Self> {
                Ok(self)
            }
        }
    )+};
}
unchanged! { () String &'static str bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }
