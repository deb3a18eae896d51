//! What modules are loaded from: PTX text, fat binaries with PTX in them, and machine code, which
//! is refused.

use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::fmt;
use std::fs;
use std::io;
use std::slice;
use std::sync::Arc;

use cuda_sys::CUresult;
use ptx::LinkError;
use ptx_jit::{Program, stack, trap};

use super::{programs, runtime_functions};
use crate::fatbin::{self, FatbinError};

/// The newest version of the PTX language that was gone through: that of CUDA 13.1. A text of a newer
/// one is read too, and refused where it has something that is not known.
const NEWEST_PTX: (u32, u32) = (9, 1);

/// No file with an image is larger.
const LARGEST_FILE: u64 = 1 << 30;

/// Why an image cannot be loaded.
#[derive(Debug)]
pub(crate) struct ImageError {
    pub(crate) error: CUresult,
    /// For the logs.
    pub(crate) reason: String,
}

impl ImageError {
    pub(crate) fn new(error: CUresult, reason: impl Into<String>) -> ImageError {
        ImageError { error, reason: reason.into() }
    }

    /// The error of an image that has none of the formats.
    pub(super) fn invalid(reason: impl Into<String>) -> ImageError {
        ImageError::new(CUresult::CUDA_ERROR_INVALID_IMAGE, reason)
    }

    /// The error of machine code, where PTX is wanted.
    pub(super) fn machine_code(what: impl fmt::Display) -> ImageError {
        let reason = format!(
            "{what}; the software driver takes PTX: compile with `-ptx`, or to a fat binary with \
             `-gencode arch=compute_75,code=compute_75`"
        );
        ImageError::new(CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU, reason)
    }
}

/// The program of an image, for a device of that compute capability: 75 for 7.5.
///
/// # Errors
/// - `CUDA_ERROR_INVALID_VALUE` for null.
/// - `CUDA_ERROR_OUT_OF_MEMORY` if the machine has no memory for a stack to read it on.
/// - `CUDA_ERROR_NO_BINARY_FOR_GPU` for machine code, and fat binaries without PTX for the device.
/// - `CUDA_ERROR_INVALID_IMAGE` for what is none of the formats.
/// - `CUDA_ERROR_INVALID_PTX` for malformed PTX, what the software driver does not support, and
///   PTX for a higher architecture than the device has: PTX can be compiled "to binary code of
///   greater or equal compute capability" only (CUDA Programming Guide, PTX compatibility).
/// - `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` for the same in PTX that is newer than the driver: "the
///   provided PTX was compiled with an unsupported toolchain" (driver API, `CUresult`).
///
/// # Safety
/// The image is null, a fat binary, a reference to one, an ELF file, or text that ends with a NUL.
pub(crate) unsafe fn load(
    image: *const c_void,
    capability: u32,
) -> Result<Arc<Program>, ImageError> {
    // SAFETY: the image is null or of one of the formats that `text` reads, as the caller of this
    // function warrants in the same words.
    let source = unsafe { text(image, capability) }?;
    program(&source, capability)
}

/// The program in a file, as [`load`].
///
/// # Errors
/// `CUDA_ERROR_FILE_NOT_FOUND` too.
pub(crate) fn load_file(path: &str, capability: u32) -> Result<Arc<Program>, ImageError> {
    load_bytes(read_file(path)?, capability)
}

/// Reads a file with an image.
///
/// # Errors
/// `CUDA_ERROR_FILE_NOT_FOUND` if it cannot be read, or has no end;
/// `CUDA_ERROR_INVALID_IMAGE` if it is larger than any image.
pub(crate) fn read_file(path: &str) -> Result<Vec<u8>, ImageError> {
    let missing = CUresult::CUDA_ERROR_FILE_NOT_FOUND;
    let unreadable =
        |error: io::Error| ImageError::new(missing, format!("cannot read `{path}`: {error}"));
    let about = fs::metadata(path).map_err(unreadable)?;
    if !about.is_file() {
        return Err(ImageError::new(missing, format!("`{path}` is no ordinary file")));
    }
    if about.len() > LARGEST_FILE {
        let reason = format!("`{path}` is larger than any image");
        return Err(ImageError::new(CUresult::CUDA_ERROR_INVALID_IMAGE, reason));
    }
    fs::read(path).map_err(unreadable)
}

/// The program of an image whose length is known, as [`load`].
pub(crate) fn load_bytes(image: Vec<u8>, capability: u32) -> Result<Arc<Program>, ImageError> {
    program(&text_of_bytes(image, capability)?, capability)
}

/// The PTX of an image whose length is known, as [`load`].
pub(crate) fn text_of_bytes(mut image: Vec<u8>, capability: u32) -> Result<String, ImageError> {
    let invalid = ImageError::invalid;
    if image.starts_with(&fatbin::CONTAINER) {
        let header = image.first_chunk().ok_or_else(|| invalid("a truncated fat binary"))?;
        let length = fatbin::container_bytes(header).map_err(refusal)?;
        let bytes = image.get(..length).ok_or_else(|| invalid("a truncated fat binary"))?;
        return fatbin::choose(bytes, capability).map_err(refusal);
    }
    if image.starts_with(&fatbin::WRAPPER) {
        return Err(invalid("a reference to a fat binary means nothing outside its process"));
    }
    image.push(0);
    // SAFETY: it is an ELF file, or text that ends with a NUL.
    unsafe { text(image.as_ptr().cast(), capability) }.map(Cow::into_owned)
}

/// Looks whether a PTX text can be linked.
///
/// # Errors
/// `CUDA_ERROR_INVALID_PTX` for a text that is malformed or not supported, and
/// `CUDA_ERROR_UNSUPPORTED_PTX_VERSION` for such a text that is newer than the driver.
pub(super) fn check_unlinked(name: &str, text: &str) -> Result<(), ImageError> {
    let unread = |error| unread_text(text, format!("{name}: {error}"));
    ptx::parse_unlinked(text).map(drop).map_err(unread)
}

/// Why inputs are not linked, and the driver's error for it.
pub(super) fn link_refusal(error: &LinkError) -> ImageError {
    let code = match error {
        LinkError::Undefined { .. } | LinkError::Duplicate { .. } => {
            CUresult::CUDA_ERROR_INVALID_SOURCE
        }
        LinkError::Malformed { .. } | LinkError::NoInput => CUresult::CUDA_ERROR_INVALID_PTX,
    };
    ImageError::new(code, error.to_string())
}

/// The program of a PTX text, as [`load`]. What the text uses of the device runtime is linked to it.
pub(crate) fn program(source: &str, capability: u32) -> Result<Arc<Program>, ImageError> {
    // Its kernels will need it, and the program may have set a handler of its own meanwhile.
    trap::stand_in();
    let program = programs::of_text(source, || {
        let linked = runtime_functions::linked(source)
            .map_err(|error| unread_text(source, error.to_string()))?;
        stack::with_room(|| Program::load(&linked))
            .map_err(|error| {
                ImageError::new(CUresult::CUDA_ERROR_OUT_OF_MEMORY, error.to_string())
            })?
            .map_err(|error| unread_text(source, error.to_string()))
    })?;
    let target = program.target();
    if target > capability {
        let reason = format!(
            "the PTX is for sm_{target}, but the device has compute capability {}.{} \
             (CUDA_SIM_CAPABILITY sets it)",
            capability / 10,
            capability % 10
        );
        return Err(ImageError::new(CUresult::CUDA_ERROR_INVALID_PTX, reason));
    }
    Ok(program)
}

/// The error of a text that is malformed or has something that is not supported.
fn unread_text(text: &str, reason: String) -> ImageError {
    match ptx::language_version(text) {
        Some((major, minor)) if (major, minor) > NEWEST_PTX => {
            let (newest, least) = NEWEST_PTX;
            let error = CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
            let newer = format!("PTX {major}.{minor} is newer than the driver's, {newest}.{least}");
            ImageError::new(error, format!("{reason} ({newer})"))
        }
        _ => ImageError::new(CUresult::CUDA_ERROR_INVALID_PTX, reason),
    }
}

/// # Safety
/// As [`load`].
unsafe fn text<'a>(image: *const c_void, capability: u32) -> Result<Cow<'a, str>, ImageError> {
    if image.is_null() {
        return Err(ImageError::new(CUresult::CUDA_ERROR_INVALID_VALUE, "no image"));
    }
    // SAFETY: the image is not null and of a known format. The shortest is a text, which may have
    // fewer than four bytes but ends with a NUL, where the comparison stops.
    let starts_with = |magic: [u8; 4]| unsafe {
        (0..4).all(|index| image.cast::<u8>().add(index).read() == magic[index])
    };
    if starts_with(*b"\x7fELF") {
        return Err(ImageError::machine_code("the image is machine code"));
    }
    let container = if starts_with(fatbin::WRAPPER) {
        // SAFETY: a reference to a container has its address at byte 8.
        unsafe { image.byte_add(8).cast::<*const c_void>().read_unaligned() }
    } else if starts_with(fatbin::CONTAINER) {
        image
    } else {
        // SAFETY: what is none of the binary formats is a text, which ends with a NUL.
        let text = unsafe { CStr::from_ptr(image.cast()) };
        let invalid = || ImageError::invalid("neither PTX nor a binary");
        return text.to_str().map(Cow::Borrowed).map_err(|_| invalid());
    };
    if container.is_null() {
        return Err(refusal(FatbinError::Malformed { offset: 8, what: "no container" }));
    }
    // SAFETY: the image begins with a container's mark, or refers to one. A container has a header
    // of this size, which says how many bytes follow.
    let bytes = unsafe {
        let header = container.cast::<[u8; fatbin::HEADER_BYTES]>();
        let length = fatbin::container_bytes(&*header).map_err(refusal)?;
        slice::from_raw_parts(container.cast::<u8>(), length)
    };
    fatbin::choose(bytes, capability).map(Cow::Owned).map_err(refusal)
}

/// Why a fat binary has no PTX for the device, and the driver's error for it.
pub(super) fn refusal(error: FatbinError) -> ImageError {
    let code = match error {
        FatbinError::Malformed { .. } => CUresult::CUDA_ERROR_INVALID_IMAGE,
        FatbinError::NoPtx(_) | FatbinError::Newer { .. } => CUresult::CUDA_ERROR_NO_BINARY_FOR_GPU,
    };
    ImageError::new(code, error.to_string())
}
