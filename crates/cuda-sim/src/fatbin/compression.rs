//! The ways in which payloads are packed.

use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

/// The compression of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    /// One block without a frame, what `--compress-mode=speed` and CUDA 11 make.
    Lz4,
    /// A frame, what the other modes of CUDA 12.4 and later make.
    Zstd,
    /// A way that only old toolkits had.
    Unknown,
}

/// No PTX is larger: what says so is broken, or means harm.
const LARGEST: u64 = 256 << 20;

/// No PTX becomes smaller than one byte for so many, and LZ4 can do no better: a small image cannot
/// ask for much memory.
const RATIO: u64 = 256;

/// The payload as it was before it was packed, which had so many bytes.
pub(super) fn unpack(
    payload: &[u8],
    compression: Compression,
    bytes: u64,
) -> Result<Vec<u8>, &'static str> {
    if compression != Compression::None && bytes > LARGEST {
        return Err("more PTX than any program has");
    }
    if compression != Compression::None && bytes > (payload.len() as u64 + 1) * RATIO {
        return Err("so much PTX cannot be packed into so little");
    }
    match compression {
        Compression::None => Ok(payload.to_vec()),
        Compression::Lz4 => {
            let unpacked = lz4_flex::block::decompress(payload, bytes as usize);
            unpacked.map_err(|_| "the LZ4 block is broken").and_then(|text| exactly(text, bytes))
        }
        Compression::Zstd => {
            let broken = "the zstd frame is broken";
            let decoder = StreamingDecoder::new(payload).map_err(|_| broken)?;
            let mut text = Vec::new();
            // One more than wanted, to see whether it ends there.
            decoder.take(bytes + 1).read_to_end(&mut text).map_err(|_| broken)?;
            exactly(text, bytes)
        }
        Compression::Unknown => Err("a compression that only toolkits before CUDA 11 have"),
    }
}

fn exactly(text: Vec<u8>, bytes: u64) -> Result<Vec<u8>, &'static str> {
    if text.len() as u64 == bytes { Ok(text) } else { Err("the payload has another size") }
}
