//! `prmt` where the choice of bytes is not known when the kernel is compiled, and `fns`.

use ptx::PermuteMode;

pub(crate) extern "C" fn permute(a: u32, b: u32, c: u32, mode: u32) -> u32 {
    let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
    let low = (c & 3) as usize;
    let selector = PermuteMode::Selector as u32;
    let chosen: [u8; 4] = std::array::from_fn(|place| {
        if mode == selector {
            let nibble = c >> (4 * place);
            let byte = bytes[(nibble & 7) as usize];
            return if nibble & 8 == 0 { byte } else { ((byte as i8) >> 7) as u8 };
        }
        bytes[source(mode, low, place)]
    });
    u32::from_le_bytes(chosen)
}

/// The place of the n-th set bit from bit `base` on, or down from there for negative n; all ones
/// where there is none (PTX ISA, `fns`).
pub(crate) extern "C" fn find_counted(mask: u32, base: u32, n: u32) -> u32 {
    let n = n as i32;
    if base > 31 {
        return u32::MAX;
    }
    let set = |&place: &u32| mask >> place & 1 != 0;
    let nth = n.unsigned_abs().saturating_sub(1) as usize;
    let found = match n {
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(nth),
        _ => (0..=base).rev().filter(set).nth(nth),
    };
    found.unwrap_or(u32::MAX)
}

/// The index of the byte, of eight, that goes to a place, in the modes that count from the low bits
/// of `c`.
fn source(mode: u32, low: usize, place: usize) -> usize {
    const FORWARD: u32 = PermuteMode::ForwardExtract as u32;
    const BACKWARD: u32 = PermuteMode::BackwardExtract as u32;
    const BYTE: u32 = PermuteMode::ReplicateByte as u32;
    const LEFT: u32 = PermuteMode::ClampLeft as u32;
    const RIGHT: u32 = PermuteMode::ClampRight as u32;
    match mode {
        FORWARD => low + place,
        BACKWARD => (8 + low - place) % 8,
        BYTE => low,
        LEFT => place.max(low),
        RIGHT => place.min(low),
        // The mode that repeats a half.
        _ => 2 * (low & 1) + place % 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_chooses_the_bytes_of_the_manual() {
        let (a, b) = (0x3322_1100, 0x7766_5544);
        let check = |mode: PermuteMode, c, expected: u32| {
            assert_eq!(permute(a, b, c, mode as u32), expected, "{mode:?} {c}");
        };
        check(PermuteMode::Selector, 0x7531, 0x7755_3311);
        check(PermuteMode::ForwardExtract, 3, 0x6655_4433);
        check(PermuteMode::BackwardExtract, 1, 0x6677_0011);
        check(PermuteMode::ReplicateByte, 2, 0x2222_2222);
        check(PermuteMode::ClampLeft, 2, 0x3322_2222);
        check(PermuteMode::ClampRight, 1, 0x1111_1100);
        check(PermuteMode::ReplicateHalf, 1, 0x3322_3322);
        assert_eq!(permute(0x80, 0x7f, 0x8c, PermuteMode::Selector as u32), 0x8080_ff00);
    }
}
