//! What a device has for its part in operations: streams and events.

use std::sync::Arc;

use gpu_runtime::Event;
use parking_lot::Mutex;
use tensor::cuda::Stream;
use tensor::{Device, Result};

use crate::plan::Lane;

/// A rank of a group of devices.
pub(super) struct Member {
    pub(super) rank: usize,
    pub(super) device: Device,
    /// The streams by lane; none on the CPU.
    lanes: Option<[Stream; Lane::COUNT]>,
    events: Mutex<Vec<Arc<Event>>>,
}

impl Member {
    /// # Errors
    /// The device cannot be used, or has no stream left.
    pub(super) fn new(rank: usize, device: Device) -> Result<Member> {
        let lanes = match device {
            Device::Cpu => None,
            Device::Cuda(_) => {
                Some([Stream::new(device)?, Stream::new(device)?, Stream::new(device)?])
            }
        };
        Ok(Member { rank, device, lanes, events: Mutex::default() })
    }

    /// The stream of a lane; `None` on the CPU, which is alone in its group and has no steps.
    pub(super) fn stream(&self, lane: Lane) -> Option<&Stream> {
        self.lanes.as_ref().map(|lanes| &lanes[lane.index()])
    }

    /// An event that nobody waits for any more.
    pub(super) fn event(&self) -> Arc<Event> {
        let mut events = self.events.lock();
        let unused = events.iter().position(|event| Arc::strong_count(event) == 1);
        match unused {
            Some(place) => Arc::clone(&events[place]),
            None => {
                let event = Arc::new(Event::new());
                events.push(Arc::clone(&event));
                event
            }
        }
    }
}
