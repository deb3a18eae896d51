//! What goes wrong in a group.

use std::fmt;
use std::sync::Arc;

use tensor::Device;

/// The reason why an operation of a group failed, or why a group cannot be made.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// A rank's own part of the operation failed.
    #[error("{op}: rank {rank} on {device}: {source}")]
    Failed {
        /// The operation.
        op: &'static str,
        /// The rank.
        rank: usize,
        /// The device of the rank.
        device: Device,
        /// The cause.
        source: Box<tensor::Error>,
    },
    /// Another rank could not go on.
    #[error("{op}: rank {rank} on {device} cannot go on: {reason}")]
    Aborted {
        /// The operation.
        op: &'static str,
        /// The rank that could not.
        rank: usize,
        /// The device of that rank.
        device: Device,
        /// The reason that it gave.
        reason: Arc<str>,
    },
    /// Two ranks called different operations, or with different tensors.
    #[error(
        "{op}: rank {rank} calls {found}, where another rank calls {expected}; all ranks must call the \
         same operations in the same order, with tensors of one shape and dtype"
    )]
    Mismatch {
        /// The operation.
        op: &'static str,
        /// The rank that does otherwise.
        rank: usize,
        /// Its call.
        found: String,
        /// The call of the rank that came first.
        expected: String,
    },
    /// Nobody can follow a plan for so many ranks or elements.
    #[error("CollectivePlan: {ranks} ranks with {elements} elements each: {why}")]
    Plan {
        /// The number of ranks.
        ranks: usize,
        /// The number of elements of each.
        elements: usize,
        /// The reason why there is no plan.
        why: &'static str,
    },
    /// The number of tensors is not the number of ranks.
    #[error("{op}: {found} tensors for {expected} devices; there must be one on each")]
    WrongCount {
        /// The operation.
        op: &'static str,
        /// The number of tensors.
        found: usize,
        /// The number of ranks.
        expected: usize,
    },
    /// A rank was named that the group does not have.
    #[error("{op}: rank {rank} of a group with {size} ranks")]
    NoSuchRank {
        /// The operation.
        op: &'static str,
        /// The rank.
        rank: usize,
        /// The number of ranks.
        size: usize,
    },
    /// A tensor lies elsewhere than its rank.
    #[error(
        "{op}: the tensor of rank {rank} is on {found}, not on {expected}; move it with .to({expected})"
    )]
    Elsewhere {
        /// The operation.
        op: &'static str,
        /// The rank.
        rank: usize,
        /// The device that the tensor is on.
        found: Device,
        /// The device of the rank.
        expected: Device,
    },
    /// A tensor is on no device of the group.
    #[error(
        "{op}: the tensor is on {found}, and the group has {devices:?}; move it to one of them with .to(..)"
    )]
    OutsideOfGroup {
        /// The operation.
        op: &'static str,
        /// The device that the tensor is on.
        found: Device,
        /// The devices of the group.
        devices: Vec<Device>,
    },
    /// The devices of a group are not such as can form one.
    #[error("DeviceGroup: {devices:?}: {why}")]
    Devices {
        /// The devices.
        devices: Vec<Device>,
        /// The reason why they will not do.
        why: &'static str,
    },
    /// The member of a rank is already with somebody, or the group is in use.
    #[error("DeviceGroup: {what}")]
    InUse {
        /// The thing in use, in words.
        what: String,
    },
}

/// The text of `Display`, since `main`, `unwrap` and `expect` print errors by `Debug`.
impl fmt::Debug for CollectiveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The error as one of tensors.
impl From<CollectiveError> for tensor::Error {
    fn from(error: CollectiveError) -> tensor::Error {
        tensor::Error::other(error)
    }
}
