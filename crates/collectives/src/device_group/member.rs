//! The streams, events and memory that a device has for its part in operations.

use std::sync::Arc;

use gpu_runtime::{Capture, Event, outside_of_captures};
use parking_lot::Mutex;
use tensor::cuda::Stream;
use tensor::{DType, Device, Result, Tensor};

use crate::plan::Lane;

/// A rank of a group of devices.
pub(super) struct RankDevice {
    pub(super) rank: usize,
    pub(super) device: Device,
    /// The streams by lane; none on the CPU.
    lanes: Option<[Stream; Lane::COUNT]>,
    events: Mutex<Vec<Arc<Event>>>,
    /// Memory for what others send: of each dtype as much as an operation has needed. It is used on
    /// the lanes alone, where an operation comes after the one before.
    scratch: Mutex<Vec<Tensor>>,
}

impl RankDevice {
    /// # Errors
    /// The device cannot be used, or has no stream left.
    pub(super) fn new(rank: usize, device: Device) -> Result<RankDevice> {
        let lanes = match device {
            Device::Cpu => None,
            Device::Cuda(_) => {
                Some([Stream::new(device)?, Stream::new(device)?, Stream::new(device)?])
            }
        };
        let (events, scratch) = (Mutex::default(), Mutex::default());
        Ok(RankDevice { rank, device, lanes, events, scratch })
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

    /// Memory of so many elements, of which an operation has the use until the next one's begins.
    /// Where an operation is captured, the graph keeps it, as it does all that it works on.
    ///
    /// # Errors
    /// Memory is short.
    pub(super) fn scratch(&self, elements: usize, dtype: DType) -> Result<Tensor> {
        let mut kept = self.scratch.lock();
        if let Some(place) = kept.iter().position(|tensor| tensor.dtype() == dtype) {
            if kept[place].numel() >= elements {
                return kept[place].narrow(0, 0, elements);
            }
            // Before there is more, so that there is room for that.
            kept.swap_remove(place);
        }
        let tensor = self.allocate(elements, dtype)?;
        kept.push(tensor.clone());
        Ok(tensor)
    }

    fn allocate(&self, elements: usize, dtype: DType) -> Result<Tensor> {
        let tensor = || Tensor::empty([elements], (dtype, self.device));
        let is_captured = match self.stream(Lane::Compute) {
            Some(compute) => Capture::of(compute)?.is_some(),
            None => false,
        };
        match is_captured {
            false => tensor(),
            // Memory of a capture holds nothing before the graph is launched, and what is on a captured
            // stream cannot be waited for.
            true => outside_of_captures(|| {
                let _current = Stream::new(self.device)?.enter()?;
                tensor()
            }),
        }
    }

    /// Gives scratch memory back to the allocator.
    pub(super) fn release_scratch(&self) {
        let kept = std::mem::take(&mut *self.scratch.lock());
        drop(kept);
    }
}
