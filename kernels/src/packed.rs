//! Bytes that the crate embeds compressed.

use std::io::Read;
use std::sync::OnceLock;

use ruzstd::decoding::StreamingDecoder;

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
            let mut bytes = Vec::new();
            let decoder = StreamingDecoder::new(self.packed);
            let mut decoder = decoder.expect("the build script made the frame");
            decoder.read_to_end(&mut bytes).expect("the build script packed it");
            bytes
        })
    }

    /// The number of bytes that are embedded.
    pub(crate) fn embedded(&self) -> usize {
        self.packed.len()
    }
}
