//! The properties of devices, which are the driver's attributes in one structure.

/// Defines the structures of both versions from groups of properties, each of `both`, `of_12` or
/// `of_13`. A property is an attribute of the driver, an array of such, or of the device's identity.
macro_rules! properties {
    (@sort [$($of_12:tt)*] [$($of_13:tt)*]) => {
        $crate::properties::structure! { cudaDeviceProp_12 { $($of_12)* } }
        $crate::properties::structure! { cudaDeviceProp_13 { $($of_13)* } }
    };
    (@sort [$($of_12:tt)*] [$($of_13:tt)*] both { $($fields:tt)* } $($rest:tt)*) => {
        properties! { @sort [$($of_12)* $($fields)*] [$($of_13)* $($fields)*] $($rest)* }
    };
    (@sort [$($of_12:tt)*] $of_13:tt of_12 { $($fields:tt)* } $($rest:tt)*) => {
        properties! { @sort [$($of_12)* $($fields)*] $of_13 $($rest)* }
    };
    (@sort $of_12:tt [$($of_13:tt)*] of_13 { $($fields:tt)* } $($rest:tt)*) => {
        properties! { @sort $of_12 [$($of_13)* $($fields)*] $($rest)* }
    };
    ($($version:ident $fields:tt)*) => {
        properties! { @sort [] [] $($version $fields)* }
    };
}

/// Defines a structure of properties.
macro_rules! structure {
    ($name:ident { $($field:ident: $type:ty = $source:tt;)* }) => {
        /// The properties of a device.
        #[repr(C)]
        #[allow(missing_docs, missing_debug_implementations, reason = "documented by NVIDIA")]
        #[allow(non_snake_case, non_camel_case_types, reason = "the names are C's")]
        pub struct $name {
            $(pub $field: $type,)*
        }

        impl $name {
            /// Asks the driver for all of them. What an older driver does not know is 0.
            pub(super) fn of(identity: &$crate::properties::DeviceIdentity) -> Self {
                Self { $($field: $crate::properties::source!(identity, $source),)* }
            }
        }
    };
}

/// The value of a property.
macro_rules! source {
    ($identity:ident, zero) => {
        [0; _]
    };
    ($identity:ident, [$attribute:ident $(,)?]) => {
        $identity.attribute(cuda_sys::CUdevice_attribute::$attribute).into_property()
    };
    ($identity:ident, [$($attribute:ident),* $(,)?]) => {
        [$($identity.attribute(cuda_sys::CUdevice_attribute::$attribute).into_property()),*]
    };
    ($identity:ident, $field:ident) => {
        $identity.$field
    };
}

pub(crate) use {source, structure};

mod list;

use std::ffi::{c_char, c_int, c_uint};

use cuda_sys::{CUdevice, CUdevice_attribute, CUuuid};

pub use self::list::{cudaDeviceProp_12, cudaDeviceProp_13};
use crate::api::calls;
use crate::context::handle;
use crate::driver::cu;
use crate::error::Result;

calls! {
    fn cudaGetDeviceProperties_12(properties: *mut cudaDeviceProp_12, device: c_int) {
        properties.write(cudaDeviceProp_12::of(&DeviceIdentity::of(device)?));
        Ok(())
    }
    fn cudaGetDeviceProperties_13(properties: *mut cudaDeviceProp_13, device: c_int) {
        properties.write(cudaDeviceProp_13::of(&DeviceIdentity::of(device)?));
        Ok(())
    }
    fn cudaChooseDevice_12(device: *mut c_int, wanted: *const cudaDeviceProp_12) {
        let wanted = &*wanted;
        device.write(best([wanted.major, wanted.minor], wanted.totalGlobalMem)?);
        Ok(())
    }
    fn cudaChooseDevice_13(device: *mut c_int, wanted: *const cudaDeviceProp_13) {
        let wanted = &*wanted;
        device.write(best([wanted.major, wanted.minor], wanted.totalGlobalMem)?);
        Ok(())
    }
}

/// A device, and what is known of it beside attributes.
pub(crate) struct DeviceIdentity {
    device: CUdevice,
    name: [c_char; 256],
    uuid: CUuuid,
    luid: [c_char; 8],
    luid_node_mask: c_uint,
    total_memory: usize,
}

impl DeviceIdentity {
    pub(crate) fn of(ordinal: c_int) -> Result<DeviceIdentity> {
        let device = handle(ordinal)?;
        let mut identity = DeviceIdentity {
            device,
            name: [0; 256],
            uuid: CUuuid { bytes: [0; 16] },
            luid: [0; 8],
            luid_node_mask: 0,
            total_memory: 0,
        };
        let (luid, mask) = (identity.luid.as_mut_ptr(), &mut identity.luid_node_mask);
        // SAFETY: each place is writable and as large as the driver is told or knows.
        unsafe {
            cu::cuDeviceGetName(identity.name.as_mut_ptr(), 256, device)?;
            cu::cuDeviceGetUuid_v2(&mut identity.uuid, device)?;
            cu::cuDeviceTotalMem_v2(&mut identity.total_memory, device)?;
            // There are such on Windows only.
            let _ = cu::cuDeviceGetLuid(luid, mask, device);
        }
        Ok(identity)
    }

    fn attribute(&self, attribute: CUdevice_attribute) -> c_int {
        let mut value = 0;
        // SAFETY: `value` is writable.
        let asked = unsafe { cu::cuDeviceGetAttribute(&mut value, attribute, self.device) };
        asked.map_or(0, |()| value)
    }
}

/// An attribute as a property of some type.
trait IntoProperty<T> {
    fn into_property(self) -> T;
}

impl IntoProperty<c_int> for c_int {
    fn into_property(self) -> c_int {
        self
    }
}

impl IntoProperty<c_uint> for c_int {
    fn into_property(self) -> c_uint {
        self.cast_unsigned()
    }
}

impl IntoProperty<usize> for c_int {
    fn into_property(self) -> usize {
        self.cast_unsigned() as usize
    }
}

/// The device that has most of what is wanted; 0 stands for what is not asked for.
fn best(capability: [c_int; 2], memory: usize) -> Result<c_int> {
    let mut count = 0;
    // SAFETY: `count` is writable.
    unsafe { cu::cuDeviceGetCount(&mut count) }?;
    let score = |ordinal: c_int| {
        let identity = DeviceIdentity::of(ordinal)?;
        let major = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
        let minor = CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
        let has = [identity.attribute(major), identity.attribute(minor)];
        Ok((has >= capability, identity.total_memory >= memory, -ordinal))
    };
    let scores: Vec<_> = (0..count).map(score).collect::<Result<_>>()?;
    Ok(scores.into_iter().max().map_or(0, |(_, _, negative)| -negative))
}
