//! Launches that cannot run.

use crate::types::{Device, StreamId};

/// Why a launch cannot run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchProblem {
    /// A grid or a block without extent.
    #[error("the grid is {grid:?} and the block {block:?}, but no dimension can be 0")]
    Empty {
        /// The grid.
        grid: [u32; 3],
        /// The block.
        block: [u32; 3],
    },
    /// A grid beyond what the device takes.
    #[error("the grid is {grid:?}, but the device takes at most {max:?}")]
    GridTooLarge {
        /// The grid.
        grid: [u32; 3],
        /// The most in each dimension.
        max: [u32; 3],
    },
    /// A block beyond what the device takes in some dimension.
    #[error("the block is {block:?}, but the device takes at most {max:?}")]
    BlockTooLarge {
        /// The block.
        block: [u32; 3],
        /// The most in each dimension.
        max: [u32; 3],
    },
    /// More threads in a block than the kernel can have, given the registers that it needs.
    #[error("a block of {block:?} is {threads} threads, but this kernel can have at most {max}")]
    TooManyThreads {
        /// The block.
        block: [u32; 3],
        /// Its threads.
        threads: u64,
        /// The most that there can be.
        max: u32,
    },
    /// More shared memory than a launch may ask for.
    #[error(
        "{bytes} bytes of shared memory are asked for, but at most {max} are allowed; \
         Function::allow_shared_bytes raises that as far as the device can"
    )]
    TooMuchSharedMemory {
        /// The size that was asked for.
        bytes: u32,
        /// The size that is allowed.
        max: u32,
    },
    /// Another number of arguments than the kernel takes, or of other sizes.
    #[error("the kernel takes {}, but was given {}", listed(takes), listed(given))]
    Arguments {
        /// The sizes of what the kernel takes, in bytes and in order.
        takes: Vec<usize>,
        /// The sizes of what it was given.
        given: Vec<usize>,
    },
    /// A stream of another device than the one on which the module was loaded.
    #[error("it was loaded on {function}, the stream is {stream}")]
    OtherDevice {
        /// The function's device.
        function: Device,
        /// The stream.
        stream: StreamId,
    },
}

/// Arguments of these sizes, in words.
fn listed(sizes: &[usize]) -> String {
    let bytes: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    match bytes.as_slice() {
        [] => "no arguments".to_owned(),
        [one] => format!("1 argument of {one} bytes"),
        [first @ .., last] => {
            format!("{} arguments of {} and {last} bytes", bytes.len(), first.join(", "))
        }
    }
}
