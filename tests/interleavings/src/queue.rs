//! A stream of a driver as a model: a list of what was enqueued, which a device does step by step.

use std::convert::Infallible;
use std::sync::atomic::AtomicUsize;

use loom::sync::Arc;

use crate::event_history::{EventHistory, EventSource};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// An entry of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Work,
    Event,
    /// Comes after the first items of the other stream, so many.
    Wait(usize),
}

/// An event, by its place among the items of its stream: the newest one, if it is recorded anew. No
/// order in which threads can come to the place is tried, since who has the event may rely on it.
#[derive(Clone)]
pub(crate) struct Mark {
    place: std::sync::Arc<AtomicUsize>,
    driver: Arc<Mutex<Driver>>,
}

impl Mark {
    pub(crate) fn place(&self) -> usize {
        self.place.load(Ordering::Relaxed)
    }
}

/// A stream: the driver's part, and the runtime's count of the work that it took.
pub(crate) struct Queue {
    driver: Arc<Mutex<Driver>>,
    counted: AtomicU64,
    pub(crate) history: EventHistory<Mark>,
}

#[derive(Default)]
struct Driver {
    items: Vec<Item>,
    /// The number of those that are done.
    done: usize,
}

impl Queue {
    pub(crate) fn new() -> Arc<Queue> {
        Arc::new(Queue {
            driver: Arc::new(Mutex::new(Driver::default())),
            counted: AtomicU64::new(0),
            history: EventHistory::new(),
        })
    }

    /// Enqueues work as the runtime does: counted after the driver has taken it.
    pub(crate) fn enqueue_work(&self) {
        self.push(Item::Work);
        self.counted.fetch_add(1, Ordering::AcqRel);
    }

    /// Enqueues something. Its place.
    pub(crate) fn push(&self, item: Item) -> usize {
        let mut driver = self.driver.lock();
        driver.items.push(item);
        driver.items.len() - 1
    }

    pub(crate) fn items(&self) -> Vec<Item> {
        self.driver.lock().items.clone()
    }

    /// The device does the next item, if there is one.
    pub(crate) fn step(&self) {
        let mut driver = self.driver.lock();
        driver.done = driver.items.len().min(driver.done + 1);
    }

    /// The number of pieces of work among the first `place` items.
    pub(crate) fn work_before(&self, place: usize) -> u64 {
        let driver = self.driver.lock();
        driver.items[..place].iter().filter(|item| **item == Item::Work).count() as u64
    }

    /// The number of pieces of work that the device has done.
    pub(crate) fn work_done(&self) -> u64 {
        let done = self.driver.lock().done;
        self.work_before(done)
    }
}

impl EventSource for Arc<Queue> {
    type Event = Mark;
    type Error = Infallible;

    fn enqueued(&self) -> u64 {
        self.counted.load(Ordering::Acquire)
    }

    fn now(&self) -> u64 {
        self.enqueued()
    }

    fn records(&self) -> bool {
        true
    }

    fn record(&self, spare: Option<Mark>) -> Result<Mark, Infallible> {
        let place = self.push(Item::Event);
        Ok(match spare {
            Some(event) => {
                event.place.store(place, Ordering::Relaxed);
                event
            }
            None => {
                let place = std::sync::Arc::new(AtomicUsize::new(place));
                Mark { place, driver: Arc::clone(&self.driver) }
            }
        })
    }

    fn is_spare(event: &mut Mark) -> bool {
        std::sync::Arc::get_mut(&mut event.place).is_some()
    }

    fn is_complete(event: &Mark) -> Result<bool, Infallible> {
        Ok(event.driver.lock().done > event.place())
    }
}
