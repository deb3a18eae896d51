//! The images that modules are loaded from, looked through before the driver reads them.

/// The format of a module's bytes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Image {
    /// PTX, which the driver reads up to a NUL.
    Text,
    /// A fat binary: a container of PTX for several architectures, of which every entry lies where it
    /// says.
    Container {
        /// Whether there is machine code among its entries.
        has_machine_code: bool,
    },
    /// Machine code by itself.
    MachineCode,
}

const ELF: [u8; 4] = *b"\x7fELF";
const CONTAINER: [u8; 4] = 0xBA55_ED50u32.to_le_bytes();
/// A reference to a container, by its address: what programs that nvcc has linked give the driver.
const REFERENCE: [u8; 4] = 0x4662_43B1u32.to_le_bytes();

/// The size of a container's header.
const CONTAINER_HEADER: usize = 16;
/// The size of an entry's header, without what may come at its end.
const ENTRY_HEADER: usize = 64;
/// The end of an entry's header where no options are given: the offset at which they would begin, and
/// that there are none.
const NO_OPTIONS: [u8; 16] = [72, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// The kind of an entry that is PTX. What the driver makes of the others is machine code.
const PTX: u16 = 1;
/// The flags that an entry is packed.
const PACKED: u64 = 0x1000 | 0x2000 | 0x8000;
/// No PTX is larger when it is unpacked.
const LARGEST: u64 = 256 << 20;

impl Image {
    /// The format of `bytes`. Nothing in them is taken for granted: what the driver follows lies inside.
    ///
    /// # Errors
    /// A sentence that says what is wrong with them.
    pub(crate) fn of(bytes: &[u8]) -> Result<Image, &'static str> {
        if bytes.starts_with(&REFERENCE) {
            return Err("it refers to a fat binary by an address: load the fat binary itself");
        }
        if bytes.starts_with(&ELF) {
            return match end_of_elf(bytes) {
                Some(end) if end <= bytes.len() as u64 => Ok(Image::MachineCode),
                _ => Err("the machine code is cut off"),
            };
        }
        if bytes.starts_with(&CONTAINER) {
            let has_machine_code = walk(bytes)?;
            return Ok(Image::Container { has_machine_code });
        }
        match begins_as_ptx(bytes) {
            true => Ok(Image::Text),
            false => Err("it is neither PTX, which begins with `.version`, nor a binary"),
        }
    }
}

/// Whether the first thing in a text, but for comments, is the directive that PTX begins with.
fn begins_as_ptx(mut text: &[u8]) -> bool {
    loop {
        text = text.trim_ascii_start();
        let (rest, end) = match text {
            [b'/', b'/', rest @ ..] => (rest, &b"\n"[..]),
            [b'/', b'*', rest @ ..] => (rest, &b"*/"[..]),
            // A line for a preprocessor.
            [b'#', rest @ ..] => (rest, &b"\n"[..]),
            _ => return text.starts_with(b".version"),
        };
        match rest.windows(end.len()).position(|bytes| bytes == end) {
            Some(at) => text = &rest[at + end.len()..],
            None => return false,
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

/// Goes through a container, entry by entry, and says whether there is machine code among them.
fn walk(bytes: &[u8]) -> Result<bool, &'static str> {
    let cut_off = "the fat binary is cut off";
    let (version, header): (u16, u16) = (
        u16::from_le_bytes(field(bytes, 4).ok_or(cut_off)?),
        u16::from_le_bytes(field(bytes, 6).ok_or(cut_off)?),
    );
    if version != 1 || usize::from(header) != CONTAINER_HEADER {
        return Err("the fat binary is of a version that is not known");
    }
    let size = u64::from_le_bytes(field(bytes, 8).ok_or(cut_off)?);
    let size = usize::try_from(size).map_err(|_| cut_off)?;
    let mut entries = bytes[CONTAINER_HEADER..].get(..size).ok_or(cut_off)?;
    let mut has_machine_code = false;
    while !entries.is_empty() {
        let (is_machine_code, length) = entry(entries)?;
        has_machine_code |= is_machine_code;
        entries = &entries[length..];
    }
    Ok(has_machine_code)
}

/// Whether the entry that begins here is machine code, and how long it is.
fn entry(bytes: &[u8]) -> Result<(bool, usize), &'static str> {
    let cut_off = "an entry of the fat binary is cut off";
    let unknown = "an entry of the fat binary has a header that is not known";
    if bytes.len() < ENTRY_HEADER {
        return Err(cut_off);
    }
    let word = |at| field(bytes, at).map(u32::from_le_bytes).ok_or(cut_off);
    let long = |at| field(bytes, at).map(u64::from_le_bytes).ok_or(cut_off);
    let header = word(4)? as usize;
    let end = |bytes: u64| usize::try_from(bytes).ok()?.checked_add(header);
    let end = end(long(8)?).filter(|end| *end <= bytes.len()).ok_or(cut_off)?;
    let has_known_end = match (header, word(20)?) {
        (ENTRY_HEADER, 0) => true,
        (80, 64) => bytes[ENTRY_HEADER..80] == NO_OPTIONS,
        _ => false,
    };
    let has_name = word(32)? != 0 || word(36)? != 0;
    if field(bytes, 0).map(u16::from_le_bytes) != Some(PTX) {
        return Ok((true, end));
    }
    if !has_known_end || has_name {
        return Err(unknown);
    }
    let is_packed = long(40)? & PACKED != 0;
    if is_packed && (word(16)? as usize > end - header || long(56)? > LARGEST) {
        return Err("an entry of the fat binary is packed in an impossible way");
    }
    Ok((false, end))
}

fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::{CONTAINER, Image, NO_OPTIONS, REFERENCE};

    #[test]
    fn text_is_what_begins_as_ptx_does() {
        for text in [
            &b".version 6.3"[..],
            b"\n\t .version",
            b"// one\n/* two\n *//**/\n.version 8.0",
            b"# 1 \"x.ptx\"\n#\n.version 8.0\0",
        ] {
            assert_eq!(Image::of(text), Ok(Image::Text), "{text:?}");
        }
        for other in [
            &b""[..],
            b"\0",
            b"\x7fEL",
            b"hello",
            b".versio",
            b"/",
            b"/*/.version",
            b"// .version",
            b"BC\xC0\xDE",
        ] {
            assert!(Image::of(other).is_err(), "{other:?}");
        }
    }

    #[test]
    fn a_reference_by_address_is_never_followed() {
        for length in 4..32 {
            let mut bytes = vec![0x11; length];
            bytes[..4].copy_from_slice(&REFERENCE);
            assert!(Image::of(&bytes).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn machine_code_must_be_as_long_as_it_says() {
        let mut elf = vec![0u8; 200];
        elf[..4].copy_from_slice(b"\x7fELF");
        elf[0x28] = 72;
        elf[0x3A] = 64;
        elf[0x3C] = 2;
        assert_eq!(Image::of(&elf), Ok(Image::MachineCode));
        for length in 4..elf.len() {
            assert!(Image::of(&elf[..length]).is_err(), "{length} bytes");
        }
    }

    /// An entry of 24 bytes of that kind, packed from 10 bytes of them.
    fn entry(kind: u8) -> Vec<u8> {
        let mut entry = vec![0u8; 80 + 24];
        entry[0] = kind;
        entry[2..4].copy_from_slice(&[1, 1]);
        entry[4] = 80;
        entry[8] = 24;
        entry[16] = 10;
        entry[20] = 64;
        entry[28] = 75;
        entry[41] = 0x20;
        entry[56] = 100;
        entry[64..80].copy_from_slice(&NO_OPTIONS);
        entry
    }

    fn container(entries: &[Vec<u8>]) -> Vec<u8> {
        let entries = entries.concat();
        let mut container = CONTAINER.to_vec();
        container.extend([1, 0, 16, 0]);
        container.extend((entries.len() as u64).to_le_bytes());
        container.extend(entries);
        container
    }

    #[test]
    fn every_entry_of_a_container_is_looked_through() {
        let ptx_only = container(&[entry(1), entry(1)]);
        assert_eq!(Image::of(&ptx_only), Ok(Image::Container { has_machine_code: false }));
        let both = container(&[entry(1), entry(2)]);
        assert_eq!(Image::of(&both), Ok(Image::Container { has_machine_code: true }));
        for length in 4..both.len() {
            assert!(Image::of(&both[..length]).is_err(), "{length} bytes");
        }
    }

    #[test]
    fn an_entry_of_ptx_leads_nowhere_outside() {
        // What is changed at which byte of the second entry.
        let damages: [(usize, &[u8]); 9] = [
            (4, &[0xFF; 4]),
            (8, &[25]),
            (8, &[0xFF; 8]),
            (16, &[25]),
            (20, &[65]),
            (32, &[1]),
            (36, &[1]),
            (56, &[0xFF; 8]),
            (72, &[1]),
        ];
        for (at, with) in damages {
            let mut second = entry(1);
            second[at..at + with.len()].copy_from_slice(with);
            let damaged = container(&[entry(1), second]);
            assert!(Image::of(&damaged).is_err(), "{with:?} at {at}");
        }
    }
}
