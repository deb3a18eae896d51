//! Bytes that the crate embeds compressed.

use std::sync::OnceLock;

/// Bytes that are unpacked when they are first asked for.
pub(crate) struct Packed {
    packed: &'static [u8],
    bytes: OnceLock<Vec<u8>>,
}

impl Packed {
    pub(crate) const fn new(packed: &'static [u8]) -> Packed {
        Packed { packed, bytes: OnceLock::new() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get_or_init(|| {
            zstd::stream::decode_all(self.packed).expect("the build script packed it")
        })
    }

    /// The number of bytes that are embedded.
    pub(crate) fn embedded(&self) -> usize {
        self.packed.len()
    }
}
