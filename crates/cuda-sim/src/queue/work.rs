//! What streams are given to do.

use std::sync::Arc;

use super::job::Job;
use crate::time::{Demand, Timestamp};

/// The work of an operation, which is done when its turn comes.
pub(crate) enum StreamWork {
    /// Nothing: it stands for what it waits for.
    Nothing,
    /// Notes the time.
    Timestamp(Arc<Timestamp>),
    /// Calls a function of the program. It is dropped uncalled when the device is lost.
    Host(Box<dyn FnOnce() + Send>),
    /// Calls a function of the program, also when the device is lost: there and then like others.
    Callback(Box<dyn FnOnce() + Send>),
    /// Runs on the workers. It is dropped instead when the device is lost.
    Job(Arc<dyn Job>),
}

impl StreamWork {
    /// The engines and the time that it would need of the hardware that is simulated.
    pub(super) fn demand(&self) -> Demand {
        match self {
            StreamWork::Nothing | StreamWork::Timestamp(_) => Demand::Nothing,
            StreamWork::Host(_) | StreamWork::Callback(_) => Demand::HostFunction,
            StreamWork::Job(job) => job.demand(),
        }
    }

    /// The place for the time of its end, where that is wanted.
    pub(super) fn stamp(&self) -> Option<Arc<Timestamp>> {
        match self {
            StreamWork::Timestamp(time) => Some(Arc::clone(time)),
            _ => None,
        }
    }

    /// Whether it takes a thread.
    pub(super) fn has_body(&self) -> bool {
        matches!(self, StreamWork::Host(_) | StreamWork::Callback(_) | StreamWork::Job(_))
    }

    /// Whether it is dropped instead when the device is lost.
    pub(super) fn ends_with_the_device(&self) -> bool {
        matches!(self, StreamWork::Host(_) | StreamWork::Job(_))
    }
}
