//! What is known of each byte of an allocation: whether somebody wrote it, and who accessed it
//! last.
//!
//! Kept in pages, so that untouched memory costs next to nothing and copies of whole pages leave one
//! record each. Where threads have been, a page has a cell for each granule: 4 bytes in small
//! allocations, 16 in others, which keeps the cost of large ones at three times their size. A cell
//! knows which bytes of its granule were touched, so neighbours are never mistaken for each other;
//! but of accesses to different bytes of a granule only the last is remembered.

use std::ops::Range;

use parking_lot::{Mutex, MutexGuard};

use super::cells::{Cell, touched};
use super::record::{AccessClass, AccessRecord, Author};

/// The bytes of a page.
const PAGE: u64 = 4096;

/// The size in bytes up to which allocations have the small granule.
const MAX_SMALL: u64 = 1 << 20;

/// The shadow of an allocation.
pub(crate) struct ShadowMemory {
    /// The first address of the first page.
    start: u64,
    granule: u64,
    pages: Box<[Mutex<Page>]>,
}

#[derive(Default)]
struct Page {
    /// Accesses to the whole page.
    whole: Cell,
    cells: Option<Box<[Cell]>>,
    written: InitializedBytes,
}

/// The bytes of a page that somebody has written.
#[derive(Default)]
enum InitializedBytes {
    #[default]
    None,
    All,
    Some(Box<[u64; 64]>),
}

/// A fault of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessHazard {
    /// None of the bytes was ever written.
    Unwritten,
    /// The access is unordered with that one.
    Race(AccessRecord),
}

/// The checks that an access is put to.
#[derive(Clone, Copy)]
pub(crate) struct AccessChecks {
    pub(crate) written: bool,
    pub(crate) races: bool,
}

impl ShadowMemory {
    /// The shadow of a range of addresses. `written`: all of it counts as written.
    pub(crate) fn new(range: &Range<u64>, written: bool) -> ShadowMemory {
        let start = range.start / PAGE * PAGE;
        let count = (range.end - start).div_ceil(PAGE);
        let page = || {
            let written = if written { InitializedBytes::All } else { InitializedBytes::None };
            Mutex::new(Page { written, ..Page::default() })
        };
        let granule = if range.end - range.start <= MAX_SMALL { 4 } else { 16 };
        ShadowMemory { start, granule, pages: (0..count).map(|_| page()).collect() }
    }

    fn page(&self, address: u64) -> MutexGuard<'_, Page> {
        let index = ((address - self.start) / PAGE) as usize;
        self.pages[index].lock()
    }

    /// An access of a thread, aligned to its size, which is 32 bytes at most.
    pub(crate) fn access(
        &self,
        address: u64,
        bytes: u64,
        author: &Author,
        wanted: AccessChecks,
        mut is_ordered: impl FnMut(AccessRecord) -> bool,
    ) -> Result<(), AccessHazard> {
        let mut page = self.page(address);
        let place = address % PAGE;
        if wanted.written {
            // Atomic operations read too.
            let reads = !author.kind.writes() || author.kind == AccessClass::Atomic;
            if reads && !page.written.any(place, bytes) {
                return Err(AccessHazard::Unwritten);
            }
        }
        if author.kind.writes() {
            page.written.set(place..place + bytes);
        }
        if !wanted.races {
            return Ok(());
        }
        // A copy of a whole page left one record for all of it, which is not in the cells.
        page.whole.look(author.kind, &mut is_ordered).map_err(AccessHazard::Race)?;
        let granule = self.granule;
        let cells = page.cells(granule);
        for index in place / granule..(place + bytes).div_ceil(granule) {
            let touched = touched(index * granule, granule, &(place..place + bytes));
            let cell = &mut cells[index as usize];
            cell.access(author, touched, &mut is_ordered).map_err(AccessHazard::Race)?;
        }
        Ok(())
    }

    /// An access of a copy or a fill to a range.
    pub(crate) fn bulk(
        &self,
        range: Range<u64>,
        author: &Author,
        mut is_ordered: impl FnMut(AccessRecord) -> bool,
    ) -> Result<(), (u64, AccessRecord)> {
        for (start, part) in parts(range) {
            let mut page = self.page(start);
            let found = page.bulk(part, self.granule, author, &mut is_ordered);
            found.map_err(|(place, record)| (start + place, record))?;
        }
        Ok(())
    }

    /// The bytes of a range that were written, as bits for up to 64 bytes from an address.
    pub(crate) fn written(&self, address: u64, bytes: u64) -> u64 {
        let place = address % PAGE;
        let now = bytes.min(PAGE - place);
        let mut bits = self.page(address).written.bits(place, now);
        if now < bytes {
            bits |= self.page(address + now).written.bits(0, bytes - now) << now;
        }
        bits
    }

    /// Sets for up to 64 bytes from an address whether they count as written.
    pub(crate) fn set_written(&self, address: u64, bytes: u64, bits: u64) {
        let place = address % PAGE;
        let now = bytes.min(PAGE - place);
        self.page(address).written.assign(place, now, bits);
        if now < bytes {
            self.page(address + now).written.assign(0, bytes - now, bits >> now);
        }
    }

    /// A whole range counts as written.
    pub(crate) fn set_all_written(&self, range: Range<u64>) {
        for (start, part) in parts(range) {
            self.page(start).written.set(part);
        }
    }

    /// Whether all of a page-aligned page counts as written.
    pub(crate) fn is_all_written(&self, range: Range<u64>) -> bool {
        parts(range).all(|(start, part)| {
            let page = self.page(start);
            match &page.written {
                InitializedBytes::All => true,
                InitializedBytes::None => false,
                InitializedBytes::Some(_) => {
                    let mut place = part.start;
                    std::iter::from_fn(|| {
                        let next = (place < part.end).then_some(place)?;
                        place = (next + 64).min(part.end);
                        Some((next, place - next))
                    })
                    .all(|(place, bytes)| page.written.bits(place, bytes) == ones(bytes))
                }
            }
        })
    }
}

/// A range page by page: the address of the page, and the part of it.
fn parts(range: Range<u64>) -> impl Iterator<Item = (u64, Range<u64>)> {
    let mut next = range.start;
    std::iter::from_fn(move || {
        let start = next / PAGE * PAGE;
        let end = (start + PAGE).min(range.end);
        let part = (next < range.end).then(|| (start, next - start..end - start))?;
        next = end;
        Some(part)
    })
}

fn ones(count: u64) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

impl Page {
    fn cells(&mut self, granule: u64) -> &mut [Cell] {
        self.cells.get_or_insert_with(|| vec![Cell::default(); (PAGE / granule) as usize].into())
    }

    fn bulk(
        &mut self,
        part: Range<u64>,
        granule: u64,
        author: &Author,
        is_ordered: &mut impl FnMut(AccessRecord) -> bool,
    ) -> Result<(), (u64, AccessRecord)> {
        self.whole.look(author.kind, is_ordered).map_err(|record| (part.start, record))?;
        let is_whole = part == (0..PAGE);
        if is_whole && self.cells.is_none() {
            return self.whole.access(author, u16::MAX, is_ordered).map_err(|r| (0, r));
        }
        let cells = self.cells(granule);
        let indices = part.start / granule..part.end.div_ceil(granule);
        for index in indices.clone() {
            let touched = touched(index * granule, granule, &part);
            let cell = &mut cells[index as usize];
            cell.access(author, touched, is_ordered)
                .map_err(|record| ((index * granule).max(part.start), record))?;
        }
        if is_whole && author.kind.writes() {
            // All cells say the same now: one record for the page is as good, and gives their
            // memory back.
            self.cells = None;
            self.whole = Cell { write: AccessRecord::new(*author, u16::MAX), ..Cell::default() };
        }
        Ok(())
    }
}

impl InitializedBytes {
    fn any(&self, place: u64, bytes: u64) -> bool {
        self.bits(place, bytes) != 0
    }

    /// The bits of up to 64 bytes: set for those that were written.
    fn bits(&self, place: u64, bytes: u64) -> u64 {
        match self {
            InitializedBytes::None => 0,
            InitializedBytes::All => ones(bytes),
            InitializedBytes::Some(words) => {
                let (word, shift) = ((place / 64) as usize, place % 64);
                let high = match words.get(word + 1) {
                    Some(high) if shift > 0 => high << (64 - shift),
                    _ => 0,
                };
                (words[word] >> shift | high) & ones(bytes)
            }
        }
    }

    fn assign(&mut self, place: u64, bytes: u64, bits: u64) {
        let bits = bits & ones(bytes);
        match self {
            InitializedBytes::All if bits == ones(bytes) => return,
            InitializedBytes::None if bits == 0 => return,
            _ => {}
        }
        let words = self.words();
        let (word, shift) = ((place / 64) as usize, place % 64);
        words[word] = words[word] & !(ones(bytes) << shift) | bits << shift;
        if shift > 0 && shift + bytes > 64 {
            let done = 64 - shift;
            words[word + 1] = words[word + 1] & !ones(bytes - done) | bits >> done;
        }
    }

    fn set(&mut self, part: Range<u64>) {
        match self {
            InitializedBytes::All => return,
            _ if part == (0..PAGE) => return *self = InitializedBytes::All,
            _ => {}
        }
        let words = self.words();
        let mut place = part.start;
        while place < part.end {
            let count = (64 - place % 64).min(part.end - place);
            words[(place / 64) as usize] |= ones(count) << (place % 64);
            place += count;
        }
    }

    fn words(&mut self) -> &mut [u64; 64] {
        if let InitializedBytes::None | InitializedBytes::All = self {
            let word = if matches!(self, InitializedBytes::All) { u64::MAX } else { 0 };
            *self = InitializedBytes::Some(Box::new([word; 64]));
        }
        match self {
            InitializedBytes::Some(words) => words,
            _ => unreachable!("it was just made so"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn author(kind: AccessClass, thread: u32) -> Author {
        Author { kind, operation: 1, block: 0, thread, clock: 1, line: 5 }
    }

    const BOTH: AccessChecks = AccessChecks { written: true, races: true };

    #[test]
    fn only_bytes_that_somebody_wrote_may_be_read() {
        let shadow = ShadowMemory::new(&(512..10_000), false);
        let read =
            |address| shadow.access(address, 4, &author(AccessClass::Read, 0), BOTH, |_| true);
        assert_eq!(read(4096), Err(AccessHazard::Unwritten));
        shadow
            .access(4096, 4, &author(AccessClass::Write, 0), BOTH, |_| true)
            .expect("nothing wrong");
        assert_eq!((read(4096), read(4100)), (Ok(()), Err(AccessHazard::Unwritten)));
        shadow.set_all_written(4000..9000);
        assert_eq!((read(4092), read(8996)), (Ok(()), Ok(())));
        assert_eq!(read(9000), Err(AccessHazard::Unwritten));
        assert!(shadow.is_all_written(4000..9000) && !shadow.is_all_written(4000..9001));
    }

    #[test]
    fn written_bits_move_over_the_edges_of_pages_and_words() {
        let shadow = ShadowMemory::new(&(0..20_000), false);
        for (address, bytes, bits) in [(4090, 20, 0xa_5a5a), (30, 64, u64::MAX / 3), (8191, 2, 3)] {
            shadow.set_written(address, bytes, bits);
            assert_eq!(shadow.written(address, bytes), bits & ones(bytes), "{address}");
        }
        shadow.set_written(8191, 2, 0);
        assert_eq!(shadow.written(8190, 4), 0);
    }

    #[test]
    fn copies_and_threads_see_each_other() {
        for bytes in [64 << 10, 4 << 20] {
            let shadow = ShadowMemory::new(&(0..bytes), true);
            let copy = Author { operation: 2, ..author(AccessClass::BulkWrite, 0) };
            let access = |address| {
                shadow.access(address, 4, &author(AccessClass::Write, 1), BOTH, |_| false)
            };
            shadow.bulk(0..12_288, &copy, |_| false).expect("nothing was there");
            assert!(
                matches!(access(8192), Err(AccessHazard::Race(record)) if record.operation() == 2)
            );
            assert_eq!(access(20_000), Ok(()));
            let found = shadow.bulk(16_384..24_576, &copy, |_| false).map_err(|(at, _)| at);
            assert_eq!(found, Err(20_000 / shadow.granule * shadow.granule));
            assert_eq!(shadow.bulk(16_384..24_576, &copy, |_| true), Ok(()));
        }
    }
}
