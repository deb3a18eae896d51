//! Reports: what checks found, as values that read as text.

use std::error::Error;
use std::fmt;

use cuda_sys::CUresult;

use super::api_call::ApiCall;

/// A finding of checked mode.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The kind of fault.
    pub kind: ReportKind,
    /// The access or operation that showed it. `None` for leaks.
    pub actor: Option<Actor>,
    /// The address concerned.
    pub address: Option<u64>,
    /// The size of the access or of the object, in bytes; 0 where it has none.
    pub bytes: u64,
    /// The allocation that the address lies in, or next to.
    pub allocation: Option<AllocationInfo>,
    /// The other side of a race.
    pub other: Option<Actor>,
    /// The call that made an object which leaked. That of memory is in `allocation`.
    pub made: Option<ApiCall>,
    /// Further details: of races, the order that is missing; of leaks, the kind of object.
    pub detail: String,
}

/// The kinds of [`Report`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ReportKind {
    /// An access outside of every allocation.
    OutOfBounds,
    /// An access to memory that was freed.
    UseAfterFree,
    /// An access at an address that is no multiple of its size.
    Misaligned,
    /// A write to memory that kernels may only read.
    ReadOnly,
    /// An access to another device's memory without peer access.
    NoPeerAccess,
    /// A read of memory that nobody wrote.
    Uninitialized,
    /// Two unordered accesses of a block's threads to shared memory.
    SharedRace,
    /// Two unordered accesses of a launch's threads to global memory.
    GlobalRace,
    /// Two unordered accesses of different operations.
    StreamRace,
    /// A barrier that not all threads came to, or not in the same way.
    Barrier,
    /// A shuffle that reads from a lane that takes no part.
    InactiveLane,
    /// An object or memory that was not given back.
    Leak,
}

impl ReportKind {
    /// The kind in words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            ReportKind::OutOfBounds => "access out of bounds",
            ReportKind::UseAfterFree => "use after free",
            ReportKind::Misaligned => "misaligned access",
            ReportKind::ReadOnly => "write to read-only memory",
            ReportKind::NoPeerAccess => "access to a peer's memory that was not enabled",
            ReportKind::Uninitialized => "read of memory that nobody wrote",
            ReportKind::SharedRace => "race in shared memory",
            ReportKind::GlobalRace => "race in global memory",
            ReportKind::StreamRace => "race between operations",
            ReportKind::Barrier => "barrier used wrongly",
            ReportKind::InactiveLane => "shuffle from an inactive lane",
            ReportKind::Leak => "leak",
        }
    }

    /// The error that the driver's calls return on account of it. Barriers, shuffles and leaks are
    /// reports only.
    #[must_use]
    pub fn error(self) -> Option<CUresult> {
        match self {
            ReportKind::OutOfBounds
            | ReportKind::UseAfterFree
            | ReportKind::ReadOnly
            | ReportKind::NoPeerAccess => Some(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS),
            ReportKind::Misaligned => Some(CUresult::CUDA_ERROR_MISALIGNED_ADDRESS),
            ReportKind::Uninitialized
            | ReportKind::SharedRace
            | ReportKind::GlobalRace
            | ReportKind::StreamRace => Some(CUresult::CUDA_ERROR_LAUNCH_FAILED),
            ReportKind::Barrier | ReportKind::InactiveLane | ReportKind::Leak => None,
        }
    }
}

/// The author of an access: a thread of a kernel, a copy or a fill.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Actor {
    /// The access in words: `write`, `atomic operation`.
    pub access: &'static str,
    /// The kernel's name, if it is one.
    pub kernel: Option<String>,
    /// The operation in words: ``launch of `saxpy` ``, `copy`.
    pub operation: String,
    /// The stream in words.
    pub stream: String,
    /// The ordinal of the stream's device.
    pub device: Option<u32>,
    /// The block's index in the grid.
    pub block: Option<[u32; 3]>,
    /// The thread's index in its block.
    pub thread: Option<[u32; 3]>,
    /// The line of the instruction in the PTX text, from 1; 0 if there is none.
    pub ptx_line: u32,
    /// File and line of the source, where the PTX tells.
    pub source: Option<(String, u32)>,
    /// The call that enqueued the operation.
    pub enqueued: Option<ApiCall>,
}

/// An allocation that a report is about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AllocationInfo {
    /// A number that no other allocation of the process has.
    pub id: u64,
    /// The first address.
    pub address: u64,
    /// The size that was asked for.
    pub bytes: u64,
    /// The offset of the address concerned from the first one, in bytes; negative before it.
    pub offset: i64,
    /// The kind of memory in words: `allocation`, `module variable`, `page-locked memory`.
    pub what: &'static str,
    /// The call that made it.
    pub made: ApiCall,
    /// The call that freed it.
    pub freed: Option<ApiCall>,
}

/// Reports are the same if they say the same.
impl PartialEq for Report {
    fn eq(&self, other: &Report) -> bool {
        self.kind == other.kind && self.to_string() == other.to_string()
    }
}

impl Error for Report {}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.title())?;
        if let Some(actor) = &self.actor {
            write!(f, ": {actor}")?;
        }
        if let Some(address) = self.address {
            match self.actor.is_some() {
                true => write!(f, " of {} bytes at {address:#x}", self.bytes)?,
                false => write!(f, " at {address:#x}")?,
            }
        }
        if let Some(allocation) = &self.allocation {
            write!(f, ", {allocation}")?;
        }
        if let Some(other) = &self.other {
            write!(f, "; the other side: {other}")?;
        }
        if !self.detail.is_empty() {
            write!(f, "; {}", self.detail)?;
        }
        if let Some(made) = &self.made {
            write!(f, " made by {made}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            Some(kernel) => write!(f, "{} by kernel `{kernel}`", self.access)?,
            None => write!(f, "{} by a {}", self.access, self.operation)?,
        }
        if let Some(block) = self.block {
            write!(f, ", block {block:?}")?;
        }
        if let Some(thread) = self.thread {
            write!(f, ", thread {thread:?}")?;
        }
        match &self.source {
            Some((file, line)) => write!(f, ", {file}:{line} (PTX line {})", self.ptx_line)?,
            None if self.ptx_line > 0 => write!(f, ", PTX line {}", self.ptx_line)?,
            None => {}
        }
        if !self.stream.is_empty() {
            write!(f, ", in {}", self.stream)?;
        }
        if let Some(device) = self.device {
            write!(f, " of device {device}")?;
        }
        if let Some(enqueued) = &self.enqueued {
            write!(f, ", enqueued by {enqueued}")?;
        }
        Ok(())
    }
}

impl fmt::Display for AllocationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AllocationInfo { id, address, bytes, offset, what, made, freed } = self;
        let end = i64::try_from(*bytes).unwrap_or(i64::MAX);
        match *offset {
            offset if offset < 0 => write!(f, "{} bytes before ", -offset)?,
            offset if offset >= end => write!(f, "{} bytes after the end of ", offset - end)?,
            offset => write!(f, "byte {offset} of ")?,
        }
        write!(f, "{what} {id} ({bytes} bytes at {address:#x}, made by {made}")?;
        if let Some(freed) = freed {
            write!(f, ", freed by {freed}")?;
        }
        f.write_str(")")
    }
}
