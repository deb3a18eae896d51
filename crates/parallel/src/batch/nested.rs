//! Pinning and moving what is nested: tuples, `Vec`, `Option`, maps; text and numbers unchanged.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use tensor::{Blocking, Device, Result};

use super::{PinMemory, ToDevice};

impl<T: PinMemory> PinMemory for Vec<T> {
    fn pin_memory(self) -> Result<Self> {
        self.into_iter().map(T::pin_memory).collect()
    }
}

impl<T: ToDevice> ToDevice for Vec<T> {
    fn to_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|part| part.to_device(device, blocking)).collect()
    }
}

impl<T: PinMemory> PinMemory for Option<T> {
    fn pin_memory(self) -> Result<Self> {
        self.map(T::pin_memory).transpose()
    }
}

impl<T: ToDevice> ToDevice for Option<T> {
    fn to_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.map(|part| part.to_device(device, blocking)).transpose()
    }
}

impl<K: Ord, T: PinMemory> PinMemory for BTreeMap<K, T> {
    fn pin_memory(self) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.pin_memory()?))).collect()
    }
}

impl<K: Ord, T: ToDevice> ToDevice for BTreeMap<K, T> {
    fn to_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.to_device(device, blocking)?))).collect()
    }
}

impl<K: Hash + Eq, T: PinMemory, S: BuildHasher + Default> PinMemory for HashMap<K, T, S> {
    fn pin_memory(self) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.pin_memory()?))).collect()
    }
}

impl<K: Hash + Eq, T: ToDevice, S: BuildHasher + Default> ToDevice for HashMap<K, T, S> {
    fn to_device(self, device: Device, blocking: Blocking) -> Result<Self> {
        self.into_iter().map(|(key, part)| Ok((key, part.to_device(device, blocking)?))).collect()
    }
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt),+))+) => {$(
        impl<$($part: PinMemory),+> PinMemory for ($($part,)+) {
            fn pin_memory(self) -> Result<Self> {
                Ok(($(self.$index.pin_memory()?,)+))
            }
        }

        impl<$($part: ToDevice),+> ToDevice for ($($part,)+) {
            fn to_device(self, device: Device, blocking: Blocking) -> Result<Self> {
                Ok(($(self.$index.to_device(device, blocking)?,)+))
            }
        }
    )+};
}
for_tuples! { (A 0) (A 0, B 1) (A 0, B 1, C 2) (A 0, B 1, C 2, D 3) (A 0, B 1, C 2, D 3, E 4) }

macro_rules! unchanged {
    ($($type:ty)+) => {$(
        impl PinMemory for $type {
            fn pin_memory(self) -> Result<Self> {
                Ok(self)
            }
        }

        impl ToDevice for $type {
            fn to_device(self, _: Device, _: Blocking) -> Result<Self> {
                Ok(self)
            }
        }
    )+};
}
unchanged! { () String &'static str bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }
