//! A tensor on its way to the host.

use gpu_runtime::StreamPoint;

use crate::storage::HostMemory;
use crate::{Result, Tensor};

/// What will be there when a copy is done. Reading a tensor waits for copies into it anyway; this
/// says so in its type, and can be asked.
///
/// It may be dropped or forgotten: the copy owns both its ends.
#[derive(Debug)]
#[must_use = "the copy is under way; wait() gives its result"]
pub struct Pending<T> {
    value: T,
    /// The copies that the value's memory waits for.
    points: Vec<StreamPoint>,
}

impl Pending<Tensor> {
    /// A tensor in host memory, with the copies that are under way into it.
    pub(super) fn new(tensor: Tensor) -> Pending<Tensor> {
        let points = match tensor.storage().host() {
            Some(HostMemory::Pinned(memory)) => memory.copies(),
            _ => Vec::new(),
        };
        Pending { value: tensor, points }
    }
}

impl<T> Pending<T> {
    /// Waits for the copy and gives its result.
    ///
    /// # Errors
    /// The device failed before the copy was done.
    #[track_caller]
    pub fn wait(self) -> Result<T> {
        for point in &self.points {
            point.wait()?;
        }
        Ok(self.value)
    }

    /// Whether [`Pending::wait`] would return at once.
    ///
    /// # Errors
    /// The device failed before the copy was done.
    pub fn is_ready(&self) -> Result<bool> {
        for point in &self.points {
            if !point.is_complete()? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
