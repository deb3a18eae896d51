//! Code of several files, compiled apart (`-rdc=true`): their fat binaries, linked by the driver.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::slice;

use cuda_sys::{CUjitInputType, CUlibrary, CUlinkState};

use super::fat_binary::load;
use crate::driver::cu;
use crate::error::{Result, cudaError_t};

/// Links the fat binaries of a program's files, and loads what comes of it.
///
/// nvcc's own linker makes machine code only; so this is for programs that carry PTX for the device
/// and no machine code. A file without code for it is left out, as the part of the device runtime is
/// that nvcc adds to each program.
///
/// # Errors
/// `cudaErrorNoKernelImageForDevice` if no file has code for the device, and the driver's errors.
///
/// # Safety
/// `files` must be null, or the addresses of fat binaries with a null at the end.
pub(super) unsafe fn load_linked(files: *const *const c_void) -> Result<CUlibrary> {
    if files.is_null() {
        return Err(cudaError_t::cudaErrorNoKernelImageForDevice);
    }
    let mut linker: CUlinkState = null_mut();
    // SAFETY: the linker's place is writable, and there are no options.
    unsafe { cu::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut linker) }?;
    // SAFETY: the caller's list ends with a null, and the linker was just made.
    let library = unsafe { link(linker, files) };
    // SAFETY: the linker was made above; the library has a copy of what it made.
    unsafe { cu::cuLinkDestroy(linker) }?;
    library
}

/// # Safety
/// As [`load_linked`], with a linker of the driver.
unsafe fn link(linker: CUlinkState, files: *const *const c_void) -> Result<CUlibrary> {
    let mut added = 0;
    // SAFETY: the list goes on until its null.
    let list = (0..).map(|index| unsafe { files.add(index).read() });
    for file in list.take_while(|file| !file.is_null()) {
        let kind = CUjitInputType::CU_JIT_INPUT_FATBINARY;
        // SAFETY: the file is a fat binary of that size, which the driver only reads.
        let result = unsafe {
            let (data, bytes, name) = (file.cast_mut(), bytes_of(file), c"".as_ptr());
            cu::cuLinkAddData_v2(linker, kind, data, bytes, name, 0, null_mut(), null_mut())
        };
        match result {
            Err(cudaError_t::cudaErrorNoKernelImageForDevice) => {}
            Err(error) => return Err(error),
            Ok(()) => added += 1,
        }
    }
    if added == 0 {
        return Err(cudaError_t::cudaErrorNoKernelImageForDevice);
    }
    let (mut image, mut bytes) = (null_mut(), 0);
    // SAFETY: both are writable; the image stays until the linker goes.
    unsafe {
        cu::cuLinkComplete(linker, &mut image, &mut bytes)?;
        load(image)
    }
}

/// The size of a fat binary, which stands in its header: the header's own size at byte 6, and that
/// of what follows at byte 8, as nvcc writes them.
///
/// # Safety
/// `file` must be a fat binary.
unsafe fn bytes_of(file: *const c_void) -> usize {
    // SAFETY: each begins with a header of 16 bytes.
    let header = unsafe { slice::from_raw_parts(file.cast::<u8>(), 16) };
    let own = u16::from_le_bytes([header[6], header[7]]);
    let rest = header[8..].try_into().map_or(0, u64::from_le_bytes);
    usize::from(own) + rest as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fat_binary_is_as_large_as_its_header_says() {
        let header: [u64; 2] = [0x0010_0001_ba55_ed50, 0x128];
        // SAFETY: that is such a header.
        assert_eq!(unsafe { bytes_of(header.as_ptr().cast()) }, 0x138);
    }

    #[test]
    fn a_program_without_files_has_no_image() {
        // SAFETY: null stands for no list.
        let loaded = unsafe { load_linked(std::ptr::null()) };
        assert_eq!(loaded.map(drop), Err(cudaError_t::cudaErrorNoKernelImageForDevice));
    }
}
