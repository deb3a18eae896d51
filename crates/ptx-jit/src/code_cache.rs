//! A cache of native code on disk, which processes share: what one has translated, the next one reads.
//!
//! Cranelift's own keys are used: a hash of the function that is translated, of the processor's
//! instructions, of the settings and of Cranelift's version. So whatever changes the code changes the
//! key, and nothing in the folder is ever out of date; where the code is called from, and the addresses
//! that it calls, are not part of it. Each function is a file of its own, which is written under another
//! name first: a reader sees all of it or nothing. A file that was damaged is deleted and made anew, and
//! a folder that cannot be written to is a cache without entries.

mod folder;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::incremental_cache::CacheKvStore;
use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::{CodegenError, Context};

use self::folder::CacheFolder;

static CACHE: OnceLock<CacheFolder> = OnceLock::new();

/// Has this process keep native code in a folder from now on, and read what is there. Files that were
/// not used for the longest time go when all are larger than `max_bytes`. The first call counts; before
/// it, and without one, nothing is read or written.
///
/// The files are run as code: nobody else should be able to write to the folder, which is made for its
/// owner alone if it does not exist.
pub fn keep_in(folder: PathBuf, max_bytes: u64) {
    // A later call has no effect, as documented.
    let _ = CACHE.set(CacheFolder::new(folder, max_bytes));
}

/// Translates a function, or takes its code from the cache.
///
/// # Errors
/// What Cranelift says against the code.
pub(crate) fn compile(context: &mut Context, isa: &dyn TargetIsa) -> Result<(), CodegenError> {
    let mut control = ControlPlane::default();
    let compiled = match CACHE.get() {
        Some(folder) => {
            context.compile_with_cache(isa, &mut CraneliftStore(folder), &mut control).map(drop)
        }
        None => context.compile(isa, &mut control).map(drop),
    };
    compiled.map_err(|error| error.inner)
}

/// The folder as Cranelift wants it.
struct CraneliftStore<'a>(&'a CacheFolder);

impl CacheKvStore for CraneliftStore<'_> {
    fn get(&self, key: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.0.read(key).map(Cow::Owned)
    }

    fn insert(&mut self, key: &[u8], code: Vec<u8>) {
        self.0.write(key, &code);
    }
}
