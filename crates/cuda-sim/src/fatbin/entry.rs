//! One entry of a fat binary.

use super::FatbinError;
use super::compression::{Compression, unpack};

/// The part of an entry's header that is read; newer ones are longer.
const MIN_HEADER: usize = 64;

/// Bits of an entry's flags.
const FLAG_OLD_COMPRESSION: u64 = 0x1000;
const FLAG_LZ4: u64 = 0x2000;
const FLAG_ZSTD: u64 = 0x8000;

/// One entry of a fat binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FatbinEntry<'a> {
    pub(crate) kind: FatbinEntryKind,
    /// 75 for sm_75 and compute_75.
    pub(crate) architecture: u32,
    compression: Compression,
    payload: &'a [u8],
    /// The size of the payload when it is unpacked.
    unpacked_bytes: u64,
}

/// The kind of code that an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FatbinEntryKind {
    Ptx,
    /// Machine code, or what only a linker uses.
    Other,
}

impl<'a> FatbinEntry<'a> {
    /// The entry that begins with `bytes`, and its length; or where and what is wrong.
    pub(super) fn read(bytes: &'a [u8]) -> Result<(FatbinEntry<'a>, usize), (usize, &'static str)> {
        let header: &[u8; MIN_HEADER] =
            bytes.first_chunk().ok_or((bytes.len(), "an entry ends in its header"))?;
        let header_bytes = word(header, 4) as usize;
        if header_bytes < MIN_HEADER {
            return Err((4, "an entry's header is too short"));
        }
        let payload = bytes.get(header_bytes..).ok_or((4, "an entry's header is too long"))?;
        let padded = usize::try_from(long(header, 8)).map_err(|_| (8, "an entry is too large"))?;
        let payload = payload.get(..padded).ok_or((8, "an entry ends too early"))?;
        let flags = long(header, 40);
        let compression = match flags {
            _ if flags & FLAG_ZSTD != 0 => Compression::Zstd,
            _ if flags & FLAG_LZ4 != 0 => Compression::Lz4,
            _ if flags & FLAG_OLD_COMPRESSION != 0 => Compression::Unknown,
            _ => Compression::None,
        };
        let packed = word(header, 16) as usize;
        let payload = match compression {
            Compression::None => payload,
            _ => payload.get(..packed).ok_or((16, "more is packed than is there"))?,
        };
        let kind = match u16::from_le_bytes([header[0], header[1]]) {
            1 => FatbinEntryKind::Ptx,
            _ => FatbinEntryKind::Other,
        };
        let entry = FatbinEntry {
            kind,
            architecture: word(header, 28),
            compression,
            payload,
            unpacked_bytes: long(header, 56),
        };
        Ok((entry, header_bytes + padded))
    }

    /// The text of an entry of PTX.
    ///
    /// # Errors
    ///
    /// [`FatbinError::Malformed`], without a position that means something.
    pub(crate) fn text(&self) -> Result<String, FatbinError> {
        let malformed = |what| FatbinError::Malformed { offset: 0, what };
        let bytes =
            unpack(self.payload, self.compression, self.unpacked_bytes).map_err(malformed)?;
        // The payload is padded with NULs.
        let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
        let text = bytes[..length].to_vec();
        String::from_utf8(text).map_err(|_| malformed("the PTX is no text"))
    }
}

fn word(header: &[u8; MIN_HEADER], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|index| header[at + index]))
}

fn long(header: &[u8; MIN_HEADER], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|index| header[at + index]))
}
