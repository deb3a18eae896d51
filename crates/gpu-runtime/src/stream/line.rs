//! A stream as its milestones see it: what it has enqueued, and the events on it.

use std::sync::Arc;

use crate::enqueue::enqueue;
use crate::error::{Error, Result};
use crate::event_pool::PooledEvent;
use crate::graph;
use crate::ledger::Work;
use crate::observe::Request;
use crate::shared::Line;
use crate::stream::Stream;

impl Line for Stream {
    type Event = Arc<PooledEvent>;
    type Error = Error;

    fn enqueued(&self) -> u64 {
        self.sequence()
    }

    fn now(&self) -> u64 {
        Stream::now(self)
    }

    fn records(&self) -> bool {
        graph::of(self).is_none()
    }

    #[track_caller]
    fn record(&self, spare: Option<Arc<PooledEvent>>) -> Result<Arc<PooledEvent>> {
        let event = match spare {
            Some(event) => event,
            None => Arc::new(PooledEvent::take(self.state())?),
        };
        enqueue(self, &Request::new(&Work::Record, "cuEventRecord"), |driver, raw| {
            // SAFETY: the event was taken from the pool of the stream's device.
            unsafe { (driver.cuEventRecord)(event.raw(), raw) }
        })
        .into_result()?;
        Ok(event)
    }

    fn is_spare(event: &mut Arc<PooledEvent>) -> bool {
        Arc::get_mut(event).is_some()
    }

    fn is_complete(event: &Arc<PooledEvent>) -> Result<bool> {
        event.is_complete()
    }
}
