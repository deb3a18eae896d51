//! Closures that run before and after each launch of a graph.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::stream::Stream;

/// Enqueues what a launch needs done before it, on the stream of the launch.
pub(crate) type Before =
    Arc<dyn Fn(&Stream) -> Result<(), Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// Notes that a launch was enqueued.
pub(crate) type After = Arc<dyn Fn() + Send + Sync>;

/// The closures that were registered while a graph was captured, for each of its launches.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) before: Vec<Before>,
    pub(crate) after: Vec<After>,
    /// Held from what comes before a launch to the launch itself, which must not meet what another
    /// launch has prepared. All executable graphs of one graph share it.
    turn: Mutex<()>,
}

impl Hooks {
    /// Does what comes before a launch on `stream`. No other launch does so before the guard is gone.
    ///
    /// # Errors
    /// The first hook's that fails.
    pub(crate) fn prepare(&self, stream: &Stream) -> Result<Option<MutexGuard<'_, ()>>> {
        if self.before.is_empty() {
            return Ok(None);
        }
        let turn = self.turn.lock();
        for before in &self.before {
            before(stream).map_err(|error| match error.downcast::<Error>() {
                Ok(own) => *own,
                Err(reason) => Error::BeforeLaunch { reason: reason.into() },
            })?;
        }
        Ok(Some(turn))
    }

    /// Tells that a launch was enqueued.
    pub(crate) fn launched(&self) {
        self.after.iter().for_each(|after| after());
    }
}
