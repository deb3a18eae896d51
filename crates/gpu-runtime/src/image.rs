//! Telling apart what a module can be loaded from, before the driver reads it.

/// What the bytes of a module are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// Text, which the driver reads up to a NUL.
    Text,
    /// Machine code, alone or in an archive for several devices, which says how long it is.
    Binary,
    /// Machine code that says it is longer than it is: the driver would read past its end.
    CutOff,
}

const ELF: [u8; 4] = *b"\x7fELF";
const FATBIN: [u8; 4] = 0xBA55_ED50u32.to_le_bytes();

impl Image {
    pub(crate) fn of(bytes: &[u8]) -> Image {
        let end = if bytes.starts_with(&ELF) {
            end_of_elf(bytes)
        } else if bytes.starts_with(&FATBIN) {
            end_of_fatbin(bytes)
        } else {
            return Image::Text;
        };
        match end {
            Some(end) if end <= bytes.len() as u64 => Image::Binary,
            _ => Image::CutOff,
        }
    }
}

/// The table of sections is the last thing in an ELF file for a GPU.
fn end_of_elf(bytes: &[u8]) -> Option<u64> {
    let table = u64::from_le_bytes(field(bytes, 0x28)?);
    let size = u64::from(u16::from_le_bytes(field(bytes, 0x3A)?));
    let count = u64::from(u16::from_le_bytes(field(bytes, 0x3C)?));
    table.checked_add(size * count)
}

/// A header that gives its own size and that of what follows.
fn end_of_fatbin(bytes: &[u8]) -> Option<u64> {
    let header = u64::from(u16::from_le_bytes(field(bytes, 6)?));
    header.checked_add(u64::from_le_bytes(field(bytes, 8)?))
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::Image;

    #[test]
    fn text_is_whatever_is_no_machine_code() {
        for text in [&b""[..], b".version 6.3", b"\0", b"\x7fEL"] {
            assert_eq!(Image::of(text), Image::Text);
        }
    }

    #[test]
    fn machine_code_must_be_as_long_as_it_says() {
        let mut elf = vec![0u8; 200];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[0x28] = 72;
        elf[0x3A] = 64;
        elf[0x3C] = 2;
        let mut fatbin = vec![0u8; 116];
        fatbin[..4].copy_from_slice(&[0x50, 0xED, 0x55, 0xBA]);
        fatbin[6] = 16;
        fatbin[8] = 100;
        for image in [elf, fatbin] {
            assert_eq!(Image::of(&image), Image::Binary);
            for length in 4..image.len() {
                assert_eq!(Image::of(&image[..length]), Image::CutOff, "{length} bytes");
            }
        }
    }

    #[test]
    fn a_length_beyond_all_numbers_is_cut_off() {
        let mut fatbin = [0xFFu8; 64];
        fatbin[..4].copy_from_slice(&[0x50, 0xED, 0x55, 0xBA]);
        assert_eq!(Image::of(&fatbin), Image::CutOff);
    }
}
