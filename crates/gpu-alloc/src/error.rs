//! The errors of the allocators, by kind.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use gpu_runtime::Device;

use crate::out_of_memory::OutOfMemory;
use crate::policy::{Misplaced, OptionsError};
use crate::sizes::Bytes;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why memory was not allocated, or an allocator not set up.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The device has no memory left for the request. The program can free some and ask again.
    #[error(transparent)]
    OutOfMemory(Box<OutOfMemory>),
    /// The request would exceed the limit of page-locked memory.
    #[error(
        "{} of page-locked memory were asked for, {} are in use in {} that are pinned, and the limit \
         is {}: what is pinned is lost to the rest of the system. Release some, or raise the limit \
         with set_pinned_limit() or SLUICE_PINNED_LIMIT",
        Bytes(*.requested as u64), Bytes(*.in_use as u64), Bytes(*.pinned as u64),
        Bytes(*.limit as u64)
    )]
    PinnedLimit {
        /// The bytes that were asked for.
        requested: usize,
        /// The bytes that the program holds, or that copies still use.
        in_use: usize,
        /// The bytes that are page-locked: what is in use, and the gaps in between, none of which
        /// is large enough.
        pinned: usize,
        /// The bytes that may be page-locked.
        limit: usize,
    },
    /// The request would exceed the limit of pageable host memory.
    #[error(
        "{} of host memory were asked for, {} are in use in {} that the allocator has, and the limit \
         is {}: release some, or raise the limit with set_pageable_limit() or SLUICE_PAGEABLE_LIMIT",
        Bytes(*.requested as u64), Bytes(*.in_use as u64), Bytes(*.reserved as u64),
        Bytes(*.limit as u64)
    )]
    PageableLimit {
        /// The bytes that were asked for.
        requested: usize,
        /// The bytes that the program holds.
        in_use: usize,
        /// The bytes that the allocator has from the system: what is in use, and the gaps in
        /// between, none of which is large enough.
        reserved: usize,
        /// The bytes that it may have.
        limit: usize,
    },
    /// The memory fraction of a device is not between 0 and 1.
    #[error("a memory fraction of {fraction} was asked for: it must be between 0 and 1")]
    InvalidMemoryFraction {
        /// The fraction.
        fraction: f64,
    },
    /// An environment variable is not what it should be.
    #[error("{variable} is `{value}`: it must be {expected}")]
    InvalidEnvironment {
        /// The variable's name.
        variable: &'static str,
        /// The value that it is set to.
        value: String,
        /// The values that it may be set to.
        expected: &'static str,
    },
    /// PyTorch's options of the allocator, in the environment, are not well formed.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// Memory was asked for on one device, for a stream of another.
    #[error(
        "memory of {device} was asked for, for a stream of {stream_device}: take a stream of {device}, \
         as its current_stream(); work on others may use the memory, too"
    )]
    StreamOfOtherDevice {
        /// The device whose memory was asked for.
        device: Device,
        /// The stream's device.
        stream_device: Device,
    },
    /// A device was given the source of another one.
    #[error("a source of {source_device}'s memory was put in the place of {device}'s")]
    SourceOfOtherDevice {
        /// The device that the source was put in place for.
        device: Device,
        /// The device whose memory it provides.
        source_device: Device,
    },
    /// A capture that takes its memory from one pool cannot take it from another.
    #[error("the capture has a pool already: give it one before the first allocation")]
    PoolTaken,
    /// A graph works also in memory of its pool that is free, so nobody else may have that.
    #[error("the pool has served a capture: take another one for a part of the program")]
    PoolOfGraphs,
    /// A capture was to allocate from a pool that serves a part of the program: whoever holds memory
    /// of the pool would find a graph at work in it.
    #[error("the pool serves a part of the program: take another one for a capture")]
    PoolOfProgram,
    /// A source of memory or a policy was given to the devices' allocators after these were made.
    #[error(
        "the devices' allocators are made already, by a first allocation or a memory fraction: choose \
         sources and policies before that"
    )]
    AllocatorInUse,
    /// The program's own allocator of a device was wrong.
    #[error(transparent)]
    Misplaced(#[from] Misplaced),
    /// A snapshot was not written.
    #[error("no snapshot was written to {}: {source}", .path.display())]
    SnapshotFile {
        /// The file that it was to be written to.
        path: PathBuf,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The runtime or the driver failed.
    #[error(transparent)]
    Runtime(#[from] gpu_runtime::Error),
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
