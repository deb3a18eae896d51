//! A cache of native code on disk, which processes share: what one has translated, the next one reads.
//!
//! Cranelift's own keys are used: a hash of the function that is translated, of the processor's
//! instructions, of the settings and of Cranelift's version. What native code and the runtime agree on
//! need not show in a function's instructions, so the text of those definitions is part of the key too.
//! So nothing in the folder is ever out of date; where the code is called from, and the addresses that it
//! calls, are not part of the key. Each function is a file of its own, which is written under another
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
use sha2::{Digest, Sha256};

use self::folder::CacheFolder;

/// The definitions of what native code and the runtime hand each other.
const SHARED_DEFINITIONS: [&str; 4] = [
    include_str!("abi/mod.rs"),
    include_str!("abi/access.rs"),
    include_str!("abi/helper.rs"),
    include_str!("abi/records.rs"),
];

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
        self.0.read(&whole_key(key)).map(Cow::Owned)
    }

    fn insert(&mut self, key: &[u8], code: Vec<u8>) {
        self.0.write(&whole_key(key), &code);
    }
}

/// A key for a function that was compiled for this runtime, of Cranelift's for the function.
fn whole_key(key: &[u8]) -> [u8; 32] {
    static SHARED: OnceLock<Sha256> = OnceLock::new();
    let shared = SHARED.get_or_init(|| {
        SHARED_DEFINITIONS.iter().fold(Sha256::new(), |hash, text| hash.chain_update(text))
    });
    shared.clone().chain_update(key).finalize().into()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn all_shared_definitions_are_part_of_the_key() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/abi");
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = fs::read_to_string(&path).unwrap();
            assert!(SHARED_DEFINITIONS.contains(&&*text), "{}", path.display());
        }
    }

    #[test]
    fn another_function_has_another_key() {
        assert_eq!(whole_key(b"one"), whole_key(b"one"));
        assert_ne!(whole_key(b"one"), whole_key(b"two"));
    }
}
