//! A stream as its history of events sees it: what it has enqueued, and the events on it.

use std::sync::Arc;

use super::enqueue::enqueue;
use crate::device::PooledEvent;
use crate::error::{Error, Result};
use crate::shared::EventSource;
use crate::stream::{Request, Stream, captures};
use crate::types::Work;

impl EventSource for Stream {
    type Event = Arc<PooledEvent>;
    type Error = Error;

    fn enqueued(&self) -> u64 {
        self.sequence()
    }

    fn now(&self) -> u64 {
        Stream::now(self)
    }

    fn records(&self) -> bool {
        captures::of(self).is_none()
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
