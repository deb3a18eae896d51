//! Finds the driver's shared library at run time and fills the table from it.

use std::error::Error as _;
use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::ptr::NonNull;

use libloading::Library;

use crate::{CUresult, Driver, MissingFunction};

#[cfg(not(windows))]
const LIBRARIES: &[&str] = &["libcuda.so.1", "libcuda.so"];
#[cfg(windows)]
const LIBRARIES: &[&str] = &["nvcuda.dll"];

const OLDEST: DriverVersion = DriverVersion(12_000);

impl Driver {
    /// Loads the CUDA driver of this machine, by the names that NVIDIA's driver is installed under
    /// and the dynamic loader's usual search.
    ///
    /// The library is never unloaded: the table is copied freely and its functions are called until
    /// the last thread ends, and the driver has threads and exit handlers of its own.
    ///
    /// This does not call `cuInit`. Opening the library blocks for some milliseconds.
    ///
    /// # Errors
    /// [`LoadError::NotFound`] where there is no driver, [`LoadError::TooOld`] and
    /// [`LoadError::Incomplete`] where there is one that cannot be used.
    pub fn load() -> Result<Driver, LoadError> {
        let (name, library) = open(LIBRARIES)?;
        let resolve = |symbol: &'static CStr| address(library, symbol);
        let version = resolve(c"cuDriverGetVersion").and_then(version);
        if let Some(version) = version.filter(|version| *version < OLDEST) {
            return Err(LoadError::TooOld { library: name, version });
        }
        // SAFETY: the library is the CUDA driver by its name, which exports functions as cuda.h
        // declares them, and is never unloaded.
        unsafe { Driver::from_symbols(resolve) }.map_err(|missing| LoadError::Incomplete {
            library: name,
            version,
            missing,
        })
    }
}

/// Why no driver was loaded.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The dynamic loader opened none of the libraries.
    #[error(
        "no CUDA driver was found ({}); install NVIDIA's driver for CUDA {OLDEST} or newer",
        Attempts(.tried)
    )]
    NotFound {
        /// Each library that was asked for, in order.
        tried: Vec<Attempt>,
    },
    /// The driver is older than all that Sluice is made for.
    #[error(
        "the CUDA driver in {library} is for CUDA {version}; install one for CUDA {OLDEST} or newer"
    )]
    TooOld {
        /// The library that was opened.
        library: &'static str,
        /// The version that the driver states.
        version: DriverVersion,
    },
    /// The library lacks a function.
    #[error(
        "{library} ({}): {missing}; install NVIDIA's driver for CUDA {OLDEST} or newer, or remove \
         the other library of that name from the search path",
        VersionOf(.version)
    )]
    Incomplete {
        /// The library that was opened.
        library: &'static str,
        /// The version that the driver states, if it states one.
        version: Option<DriverVersion>,
        /// The first function that was not found.
        missing: MissingFunction,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One library that could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// The name that was asked for.
    pub library: &'static str,
    /// The message of the dynamic loader.
    pub reason: String,
}

/// The CUDA version that a driver supports, as `cuDriverGetVersion` gives it: 12040 is 12.4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DriverVersion(pub c_int);

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

struct Attempts<'a>(&'a [Attempt]);

impl fmt::Display for Attempts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, Attempt { library, reason }) in self.0.iter().enumerate() {
            write!(f, "{}{library}: {reason}", if index == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

struct VersionOf<'a>(&'a Option<DriverVersion>);

impl fmt::Display for VersionOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(version) => write!(f, "a driver for CUDA {version}"),
            None => f.write_str("a driver that does not tell its version"),
        }
    }
}

fn open(names: &[&'static str]) -> Result<(&'static str, &'static Library), LoadError> {
    let mut tried = Vec::new();
    for &library in names {
        // SAFETY: initialisers of the CUDA driver may run on any thread.
        match unsafe { Library::new(library) } {
            Ok(opened) => return Ok((library, Box::leak(Box::new(opened)))),
            Err(error) => tried.push(Attempt { library, reason: reason(library, &error) }),
        }
    }
    Err(LoadError::NotFound { tried })
}

/// The loader's message, which libloading keeps as the source of its error, without the library's
/// name, which most loaders put first.
fn reason(library: &str, error: &libloading::Error) -> String {
    let message = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    let reason = message.strip_prefix(library).and_then(|rest| rest.strip_prefix(": "));
    reason.unwrap_or(&message).to_owned()
}

fn address(library: &'static Library, symbol: &CStr) -> Option<NonNull<c_void>> {
    // SAFETY: the symbol is only read as an address, which any symbol has.
    let symbol = unsafe { library.get::<*mut c_void>(symbol) }.ok()?;
    NonNull::new(*symbol)
}

fn version(address: NonNull<c_void>) -> Option<DriverVersion> {
    type GetVersion = unsafe extern "C" fn(*mut c_int) -> CUresult;
    // SAFETY: this is the type that cuda.h gives `cuDriverGetVersion`.
    let get_version: GetVersion = unsafe { std::mem::transmute(address) };
    let mut version = 0;
    // SAFETY: `version` is writable, and this call needs no `cuInit` before it.
    unsafe { get_version(&mut version) }.ok().ok().map(|()| DriverVersion(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_that_was_tried_is_named_with_the_loaders_reason() {
        let error = open(&["libnothing.so.1", "libnothing.so"]).expect_err("there are none");
        let LoadError::NotFound { tried } = &error else { panic!("another error: {error:?}") };
        assert_eq!(
            tried.iter().map(|a| a.library).collect::<Vec<_>>(),
            ["libnothing.so.1", "libnothing.so"]
        );
        assert!(tried.iter().all(|attempt| !attempt.reason.starts_with("dlopen")), "{tried:?}");
        let text = error.to_string();
        assert!(text.contains("libnothing.so.1: ") && text.contains("; libnothing.so: "), "{text}");
        assert!(text.contains("CUDA 12.0 or newer"), "{text}");
    }

    #[test]
    fn an_incomplete_library_is_named_with_its_version_and_what_it_lacks() {
        let missing = MissingFunction { symbol: c"cuMemAlloc_v2" };
        let version = Some(DriverVersion(12_040));
        let error = LoadError::Incomplete { library: "libcuda.so.1", version, missing };
        let text = error.to_string();
        assert!(text.starts_with("libcuda.so.1 (a driver for CUDA 12.4)"), "{text}");
        assert!(text.contains("`cuMemAlloc_v2`") && text.contains("install"), "{text}");
    }
}
