//! The process's own memory: what is mapped at its addresses.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::ops::Range;

/// Whether the process can read all of a range, and write it if that is asked for. Where the system
/// does not tell, it is taken to be so.
pub(crate) fn is_accessible(range: &Range<u64>, written: bool) -> bool {
    let Ok(maps) = File::open("/proc/self/maps") else { return true };
    let mut next = range.start;
    for line in BufReader::new(maps).lines() {
        let Ok(line) = line else { return true };
        let Some((mapped, access)) = parsed(&line) else { return true };
        if mapped.end <= next {
            continue;
        }
        let enough = access.starts_with('r') && (!written || access[1..].starts_with('w'));
        if mapped.start > next || !enough {
            return false;
        }
        next = mapped.end;
        if next >= range.end {
            return true;
        }
    }
    false
}

/// The addresses that a line of `/proc/self/maps` is about, and what may be done with them
/// (proc(5)): `7f0000000000-7f0000021000 rw-p 00000000 00:00 0`.
fn parsed(line: &str) -> Option<(Range<u64>, &str)> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let access = words.next().filter(|access| access.len() == 4 && access.is_ascii())?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((number(start)?..number(end)?, access))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_tells_addresses_and_access() {
        let line = "7f0000000000-7f0000021000 rw-p 00000000 00:00 0     [heap]";
        assert_eq!(parsed(line), Some((0x7f00_0000_0000..0x7f00_0002_1000, "rw-p")));
        assert_eq!(parsed("nothing of the kind"), None);
    }

    #[test]
    fn own_memory_is_accessible_and_that_of_nobody_is_not() {
        let own = vec![0_u8; 1 << 20];
        let start = own.as_ptr().addr() as u64;
        assert!(is_accessible(&(start..start + (1 << 20)), true));
        assert!(!is_accessible(&(1 << 12..1 << 13), false));
        let text = own_memory_is_accessible_and_that_of_nobody_is_not as *const () as u64;
        assert!(is_accessible(&(text..text + 1), false));
        assert!(!is_accessible(&(text..text + 1), true));
    }
}
