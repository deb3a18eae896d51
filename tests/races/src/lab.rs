//! The surroundings of the programs: streams of two devices, and ways to begin and to end.

use std::error::Error;

use gpu_alloc::{PinnedMemory, allocate_pinned};
use gpu_runtime::{
    Access, DevicePtr, MemoryUse, Order, Uses, ordered, ordered_on_host, with_order,
};
use tensor::cuda::{self, Stream};
use tensor::{Device, Shape, Tensor};

/// A result of a program.
pub type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// A program: whether its result is what it would be if everything ran in the order of the calls.
pub type RaceProgram = fn(&Lab) -> Result<bool>;

/// Programs, each with its name.
pub type NamedPrograms = &'static [(&'static str, RaceProgram)];

/// The new objects that each program is given.
pub struct Lab {
    /// A device.
    pub device: Device,
    /// Three of its streams.
    pub a: Stream,
    /// The second.
    pub b: Stream,
    /// The third.
    pub c: Stream,
    /// Another device.
    pub other: Device,
    /// A stream of that.
    pub far: Stream,
}

impl Lab {
    /// New streams on the first two devices.
    ///
    /// # Errors
    /// There are no two devices.
    pub fn new() -> Result<Lab> {
        let (device, other) = (Device::cuda_at(0), Device::cuda_at(1));
        let stream = || Stream::new(device);
        Ok(Lab {
            device,
            a: stream()?,
            b: stream()?,
            c: stream()?,
            other,
            far: Stream::new(other)?,
        })
    }

    /// Runs `f` with a stream as the current one.
    pub(crate) fn on<T>(
        &self,
        stream: &Stream,
        f: impl FnOnce() -> tensor::Result<T>,
    ) -> Result<T> {
        let _in = stream.enter()?;
        Ok(f()?)
    }

    /// A tensor of ones on the device, in memory of stream `a`; it is written.
    pub(crate) fn ones(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let ones = self.on(&self.a, || Tensor::ones(shape, self.device))?;
        self.finish()?;
        Ok(ones)
    }

    /// A buffer like [`ones`](Lab::ones), of zeros.
    pub(crate) fn zeros(&self, shape: impl Into<Shape>) -> Result<Tensor> {
        let zeros = self.on(&self.a, || Tensor::zeros(shape, self.device))?;
        self.finish()?;
        Ok(zeros)
    }

    /// Waits for everything.
    ///
    /// # Errors
    /// A device is lost.
    pub fn finish(&self) -> Result<()> {
        cuda::synchronize(self.device)?;
        cuda::synchronize(self.other)?;
        Ok(())
    }

    /// Whether a tensor has these elements once everything is done.
    pub(crate) fn is(&self, x: &Tensor, expected: &[f32]) -> Result<bool> {
        self.finish()?;
        Ok(x.to_vec::<f32>()? == expected)
    }
}

/// Page-locked memory that the program itself reads and writes.
pub(crate) struct PinnedStaging {
    memory: PinnedMemory,
}

impl PinnedStaging {
    /// Zeros.
    pub(crate) fn new(bytes: usize) -> Result<PinnedStaging> {
        let staging = PinnedStaging { memory: allocate_pinned(bytes)? };
        staging.write(0..bytes, 0)?;
        Ok(staging)
    }

    pub(crate) fn uses(&self) -> &Uses {
        self.memory.uses()
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// The bytes of a range, as an operand of work.
    pub(crate) fn operand(&self, range: &std::ops::Range<usize>, access: Access) -> MemoryUse<'_> {
        let start = DevicePtr::from_address(self.as_ptr().expose_provenance() as u64);
        MemoryUse::new(self.uses(), access).over(start.offset(range.start), range.len())
    }

    /// Has the host write a byte everywhere in a range.
    #[track_caller]
    pub(crate) fn write(&self, range: std::ops::Range<usize>, byte: u8) -> Result<()> {
        ordered_on_host(&[self.operand(&range, Access::Write)], || {
            // SAFETY: the memory has these bytes; copies that use them may only make them others.
            unsafe { self.as_ptr().add(range.start).write_bytes(byte, range.len()) }
        })?;
        Ok(())
    }

    /// Whether all bytes of a range are this one, when the host reads them.
    #[track_caller]
    pub(crate) fn is(&self, range: std::ops::Range<usize>, byte: u8) -> Result<bool> {
        Ok(ordered_on_host(&[self.operand(&range, Access::Read)], || {
            // SAFETY: the memory has these bytes, which were written once.
            range.clone().all(|at| unsafe { self.as_ptr().add(at).read_volatile() } == byte)
        })?)
    }

    /// Has a stream do something with a range that nobody sees: a callback.
    #[track_caller]
    pub(crate) fn touch(
        &self,
        stream: &Stream,
        range: std::ops::Range<usize>,
        access: Access,
        callback: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        Ok(ordered(stream, &[self.operand(&range, access)], || stream.add_callback(callback))?)
    }
}

/// Runs what a program does before or after the part that is looked at: in order, whatever the
/// mode.
pub(crate) fn in_order<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    with_order(Order::Automatic, f)
}
