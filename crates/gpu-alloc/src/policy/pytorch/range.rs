//! A range of addresses into which pages of physical memory are mapped.

use std::ops;

use crate::policy::source::Unable;
use crate::policy::{Address, Physical, RequestKind, VirtualMemorySource};

/// Reserved addresses, and which pages of them have memory.
#[derive(Debug)]
pub(super) struct ExpandableRange {
    address: Address,
    bytes: u64,
    page: u64,
    /// The memory behind each page, up to the last page that ever had some.
    pieces: Vec<Option<Physical>>,
}

impl ExpandableRange {
    /// Reserves at least `bytes`, for pages of a size.
    pub(super) fn reserve<E>(
        memory: &mut dyn VirtualMemorySource<Error = E>,
        bytes: u64,
        page: u64,
    ) -> Result<ExpandableRange, Unable<E>> {
        let whole = bytes.checked_next_multiple_of(page);
        let bytes = whole.ok_or_else(|| Unable::no_addresses(bytes))?;
        let address =
            memory.reserve(bytes).map_err(Unable::to_get(RequestKind::Addresses, bytes))?;
        Ok(ExpandableRange { address, bytes, page, pieces: Vec::new() })
    }

    pub(super) fn addresses(&self) -> (Address, u64) {
        (self.address, self.bytes)
    }

    /// Gives the addresses back, none of which has memory.
    pub(super) fn unreserve<E>(self, memory: &mut dyn VirtualMemorySource<Error = E>) {
        memory.unreserve(self.address, self.bytes);
    }

    /// Maps new memory from a page on, enough pages for `bytes`, and makes it usable; returns how
    /// many bytes those have. After an error all is as before.
    pub(super) fn map<E>(
        &mut self,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        address: Address,
        bytes: u64,
    ) -> Result<u64, Unable<E>> {
        let pages = self.pages(address, bytes.next_multiple_of(self.page));
        if self.pieces.len() < pages.end {
            self.pieces.resize(pages.end, None);
        }
        let mapped = pages.len() as u64 * self.page;
        for page in pages.clone() {
            match memory.create(self.page) {
                Ok(piece) => self.pieces[page] = Some(piece),
                Err(error) => {
                    self.destroy(memory, pages.start..page);
                    let given = (page - pages.start) as u64 * self.page;
                    return Err(Unable::to_get(RequestKind::Memory, self.page)(error).after(given));
                }
            }
        }
        for page in pages.clone() {
            let piece = self.pieces[page].expect("it was just made");
            if let Err(error) = memory.map(self.address_of(page), piece, self.page) {
                self.unmap_pages(memory, pages.start..page);
                self.destroy(memory, pages);
                return Err(Unable::to_get(RequestKind::Mapping, self.page)(error).after(mapped));
            }
        }
        if let Err(error) = memory.set_access(address, mapped) {
            self.unmap(memory, address, mapped);
            return Err(Unable::to_get(RequestKind::Mapping, mapped)(error).after(mapped));
        }
        Ok(mapped)
    }

    /// Ends the mappings of whole pages, and gives their memory back.
    pub(super) fn unmap<E>(
        &mut self,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        address: Address,
        bytes: u64,
    ) {
        let pages = self.pages(address, bytes);
        self.unmap_pages(memory, pages.clone());
        self.destroy(memory, pages);
    }

    /// The whole pages in a part of the range: where they begin, and their bytes.
    pub(super) fn whole_pages(&self, address: Address, bytes: u64) -> Option<(Address, u64)> {
        let offset = address.0 - self.address.0;
        let start = offset.next_multiple_of(self.page);
        let end = (offset + bytes) / self.page * self.page;
        (start < end).then(|| (Address(self.address.0 + start), end - start))
    }

    /// The distance of an address from the beginning of its page.
    pub(super) fn offset_in_page(&self, address: Address) -> u64 {
        (address.0 - self.address.0) % self.page
    }

    /// Unmaps page by page, each by a call of its own, as PyTorch does.
    fn unmap_pages<E>(
        &self,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        pages: ops::Range<usize>,
    ) {
        pages.for_each(|page| memory.unmap(self.address_of(page), self.page));
    }

    fn destroy<E>(
        &mut self,
        memory: &mut dyn VirtualMemorySource<Error = E>,
        pages: ops::Range<usize>,
    ) {
        for piece in self.pieces[pages].iter_mut().filter_map(Option::take) {
            memory.destroy(piece, self.page);
        }
    }

    fn pages(&self, address: Address, bytes: u64) -> ops::Range<usize> {
        let first = (address.0 - self.address.0) / self.page;
        first as usize..(first + bytes / self.page) as usize
    }

    fn address_of(&self, page: usize) -> Address {
        Address(self.address.0 + page as u64 * self.page)
    }
}
