//! Physical memory at two addresses, and an address that shows one piece of memory after the other.

use gpu_runtime::{AddressRange, PhysicalMemory, Stream, VirtualMemory, on_own_account};

use crate::lab::{Lab, NamedPrograms, Result};

pub(crate) const RACY: NamedPrograms = &[
    ("two streams that set the same bytes by two addresses", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = pages.create()?;
        pages.show(0, &memory)?;
        pages.show(1, &memory)?;
        pages.set(&lab.a, 0, 1)?;
        pages.set(&lab.b, 1, 2)?;
        pages.are_kept_until_done(lab)
    }),
    ("memory that moves to a new address while work uses the old one", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = pages.create()?;
        pages.show(0, &memory)?;
        pages.set(&lab.a, 0, 1)?;
        pages.show(1, &memory)?;
        pages.set(&lab.b, 1, 2)?;
        pages.are_kept_until_done(lab)
    }),
    ("memory whose old address is gone, and which nobody waited for", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = pages.create()?;
        pages.show(0, &memory)?;
        pages.set(&lab.a, 0, 1)?;
        done_by_chance(&lab.a)?;
        pages.hide(0)?;
        pages.show(1, &memory)?;
        pages.set(&lab.b, 1, 2)?;
        pages.are_kept_until_done(lab)
    }),
];

pub(crate) const ORDERED: NamedPrograms = &[
    ("two streams that set the same bytes by two addresses in turn", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = pages.create()?;
        pages.show(0, &memory)?;
        pages.show(1, &memory)?;
        pages.set(&lab.a, 0, 1)?;
        lab.b.wait_stream(&lab.a)?;
        pages.set(&lab.b, 1, 2)?;
        pages.are_kept_until_done(lab)
    }),
    ("memory that moves to a new address for work of the same stream", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = pages.create()?;
        pages.show(0, &memory)?;
        pages.set(&lab.a, 0, 1)?;
        pages.show(1, &memory)?;
        pages.set(&lab.a, 1, 2)?;
        pages.are_kept_until_done(lab)
    }),
    ("an address that shows other memory", |lab| {
        let mut pages = Pages::new(lab)?;
        let memory = [pages.create()?, pages.create()?];
        pages.show(0, &memory[0])?;
        pages.set(&lab.a, 0, 1)?;
        done_by_chance(&lab.a)?;
        pages.hide(0)?;
        pages.show(0, &memory[1])?;
        pages.set(&lab.b, 0, 2)?;
        pages.are_kept_until_done(lab)
    }),
    ("memory that is made anew, at the address of what is gone", |lab| {
        let mut pages = Pages::new(lab)?;
        for stream in [&lab.a, &lab.b] {
            pages.show(0, &pages.create()?)?;
            pages.set(stream, 0, 1)?;
            done_by_chance(stream)?;
            pages.hide(0)?;
        }
        Ok(true)
    }),
];

/// Addresses for two pages.
struct Pages {
    virtual_memory: VirtualMemory,
    addresses: AddressRange,
}

impl Pages {
    fn new(lab: &Lab) -> Result<Pages> {
        let found = lab.a.point().stream().device().virtual_memory()?;
        let virtual_memory = found.ok_or("the device has no virtual memory management")?;
        let addresses = virtual_memory.reserve(2 * virtual_memory.granularity())?;
        Ok(Pages { virtual_memory, addresses })
    }

    fn bytes(&self) -> usize {
        self.virtual_memory.granularity()
    }

    fn range(&self, index: usize) -> std::ops::Range<usize> {
        index * self.bytes()..(index + 1) * self.bytes()
    }

    #[track_caller]
    fn create(&self) -> Result<PhysicalMemory> {
        Ok(self.virtual_memory.create(self.bytes())?)
    }

    fn show(&mut self, index: usize, memory: &PhysicalMemory) -> Result<()> {
        let range = self.range(index);
        self.addresses.map(range.start, memory)?;
        Ok(self.addresses.set_access(range)?)
    }

    fn hide(&mut self, index: usize) -> Result<()> {
        Ok(self.addresses.unmap(self.range(index))?)
    }

    /// Sets all bytes of a page, by address.
    #[track_caller]
    fn set(&self, stream: &Stream, index: usize, byte: u8) -> Result<()> {
        let start = self.addresses.ptr().offset(self.range(index).start);
        // SAFETY: the page is mapped, and stays so until this is done.
        Ok(unsafe { stream.enqueue_fill(start, byte, self.bytes()) }?)
    }

    fn are_kept_until_done(self, lab: &Lab) -> Result<bool> {
        lab.finish()?;
        Ok(true)
    }
}

/// Until a stream's work happens to be done, of which the program learns nothing.
fn done_by_chance(stream: &Stream) -> Result<()> {
    let point = stream.point();
    on_own_account(|| {
        while !point.is_complete()? {
            std::thread::yield_now();
        }
        Ok(())
    })
}
