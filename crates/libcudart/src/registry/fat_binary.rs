//! A fat binary of the program, which the driver loads at the first use of what is in it.

use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::{Once, OnceLock};

use cuda_sys::CUlibrary;

use super::linked::load_linked;
use super::loading::loading;
use crate::driver::cu;
use crate::error::Result;

/// The record by which nvcc's host code refers to a fat binary, as `fatbinary_section.h` has it.
#[repr(C)]
struct Wrapper {
    magic: c_int,
    version: c_int,
    data: *const c_void,
    /// In version 2 the fat binaries of the files that `data` was linked from.
    files: *const *const c_void,
}

/// The version of the record for code that was linked.
const LINKED: c_int = 2;

static UNLOAD_AT_EXIT: Once = Once::new();

/// One fat binary.
#[derive(Debug)]
pub(crate) struct FatBinary {
    data: *const c_void,
    files: *const *const c_void,
    /// The library's address: handles are no `Sync`.
    library: OnceLock<Result<usize>>,
    unloaded: Once,
}

impl FatBinary {
    /// The fat binary of nvcc's record.
    ///
    /// # Safety
    /// `wrapper` must point to such a record, which stays.
    pub(crate) unsafe fn of_wrapper(wrapper: *const c_void) -> FatBinary {
        // SAFETY: the caller says that it is one.
        let wrapper = unsafe { &*wrapper.cast::<Wrapper>() };
        let files = if wrapper.version == LINKED { wrapper.files } else { null() };
        let (library, unloaded) = (OnceLock::new(), Once::new());
        FatBinary { data: wrapper.data, files, library, unloaded }
    }

    /// The driver's library of it, which is loaded at the first call. Each context has code and
    /// variables of its own, which the driver makes when they are asked for.
    pub(crate) fn library(&self) -> Result<CUlibrary> {
        let library = self.library.get_or_init(|| {
            let library = loading(|| {
                // SAFETY: the fat binary is nvcc's, and stays as the record does.
                let loaded = unsafe { load(self.data) };
                if loaded.is_ok() || self.files.is_null() {
                    return loaded;
                }
                // SAFETY: nvcc ends its lists with a null.
                unsafe { load_linked(self.files) }
            })?;
            UNLOAD_AT_EXIT.call_once(|| {
                // SAFETY: the function stays: the library is never taken out of the process.
                unsafe { libc::atexit(super::unload_all) };
            });
            Ok(library.expose_provenance())
        });
        library.map(std::ptr::with_exposed_provenance_mut)
    }

    /// Gives the library back, once. A driver that has ended already refuses it, which harms nobody.
    pub(crate) fn unload(&self) {
        let Some(Ok(library)) = self.library.get() else {
            return;
        };
        let library = std::ptr::with_exposed_provenance_mut(*library);
        self.unloaded.call_once(|| {
            // SAFETY: the library is ours, and the table refers to its functions no longer.
            let _ = unsafe { cu::cuLibraryUnload(library) };
        });
    }
}

/// A library of the driver, of an image without options.
///
/// # Safety
/// `image` must be one that [`cuLibraryLoadData`](cu::cuLibraryLoadData) accepts.
pub(super) unsafe fn load(image: *const c_void) -> Result<CUlibrary> {
    let mut library: CUlibrary = null_mut();
    let (options, values) = (null_mut(), null_mut());
    let (library_options, library_values) = (null_mut(), null_mut());
    // SAFETY: the library's place is writable, and the caller's image is one.
    unsafe {
        cu::cuLibraryLoadData(
            &mut library,
            image,
            options,
            values,
            0,
            library_options,
            library_values,
            0,
        )
    }?;
    Ok(library)
}
