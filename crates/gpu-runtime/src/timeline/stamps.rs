//! The times of work: from the driver itself where it knows them, else from events.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use cuda_sys::{CUevent, CUevent_flags, CUresult};

use super::clock::HostClock;
use crate::device::software::{self, DriverOperation};
use crate::device::{DeviceState, Handle, event_pool};
use crate::error::Result;
use crate::stream::Stream;
use crate::types::{Device, WaitReason, Work};
use crate::wait::WaitPermit;

pub(super) enum Stamps {
    /// The driver says what was when, by its virtual clock, in which the timeline has a start.
    Driver { start: Duration, times: HashMap<DriverOperation, Range<Duration>>, _only: OnlyOne },
    /// Events, of which each device has one whose time is known.
    Events { anchors: HashMap<Device, Anchor>, idle: Vec<TimedEvent> },
}

/// The marks that tell the beginning and the end of a piece of work.
pub(super) enum Marks {
    Operations { first: DriverOperation, last: DriverOperation },
    Events(Range<TimedEvent>),
}

/// An event at a time that is known.
pub(super) struct Anchor {
    event: TimedEvent,
    at: Duration,
    accuracy: Duration,
}

/// An event with timing.
pub(super) struct TimedEvent {
    raw: Handle<CUevent>,
    state: &'static DeviceState,
}

impl Stamps {
    pub(super) fn start(clock: &HostClock, devices: &[Device]) -> Result<Stamps> {
        if let Some(start) = clock.virtual_start()
            && let Some(only) = OnlyOne::begin()
        {
            return Ok(Stamps::Driver { start, times: HashMap::new(), _only: only });
        }
        let anchor = |&device| Ok((device, Anchor::new(clock, device)?));
        let anchors = devices.iter().map(anchor).collect::<Result<_>>()?;
        Ok(Stamps::Events { anchors, idle: Vec::new() })
    }

    /// Marks the stream's point before a piece of work, where events do.
    pub(super) fn begin(&mut self, stream: &Stream) -> Option<TimedEvent> {
        match self {
            Stamps::Driver { .. } => {
                // Whatever came before is not what comes now.
                software::take_last_operation();
                None
            }
            Stamps::Events { idle, .. } => TimedEvent::on(stream, idle),
        }
    }

    /// Marks the stream's point after it.
    pub(super) fn end(
        &mut self,
        stream: &Stream,
        work: &Work,
        begin: Option<TimedEvent>,
    ) -> Option<Marks> {
        match self {
            Stamps::Driver { .. } => {
                let last = software::take_last_operation()?;
                Some(Marks::Operations {
                    first: match work {
                        Work::Graph { .. } => software::begin_of_launch(last),
                        _ => last,
                    },
                    last,
                })
            }
            Stamps::Events { idle, .. } => {
                let begin = begin?;
                TimedEvent::on(stream, idle).map(|end| Marks::Events(begin..end))
            }
        }
    }

    /// Hears what the driver has to say by now.
    pub(super) fn collect(&mut self) {
        if let Stamps::Driver { times, .. } = self {
            times.extend(software::take_times());
        }
    }

    /// When the work between those marks, which is done, was under way, if that can be told.
    pub(super) fn time(&mut self, marks: Marks) -> Option<Range<Duration>> {
        match (self, marks) {
            (Stamps::Driver { start, times, .. }, Marks::Operations { first, last }) => {
                let begin = times.get(&first)?.start.saturating_sub(*start);
                let end = times.get(&last)?.end.saturating_sub(*start);
                times.remove(&first);
                times.remove(&last);
                Some(begin..end)
            }
            (Stamps::Events { anchors, idle }, Marks::Events(events)) => {
                let anchor = anchors.get(&events.start.state.device)?;
                let begin = anchor.time(&events.start);
                let time = begin.zip(anchor.time(&events.end)).map(|(begin, end)| begin..end);
                idle.extend([events.start, events.end]);
                time
            }
            _ => None,
        }
    }

    /// By how much each device's times may be off.
    pub(super) fn accuracy(&self) -> Vec<(Device, Duration)> {
        let Stamps::Events { anchors, .. } = self else { return Vec::new() };
        let mut accuracy: Vec<_> =
            anchors.iter().map(|(device, anchor)| (*device, anchor.accuracy)).collect();
        accuracy.sort_unstable();
        accuracy
    }
}

impl Marks {
    /// Whether the work is known to be done. What the driver tells by itself comes at the end.
    pub(super) fn is_past(&self) -> bool {
        match self {
            Marks::Operations { .. } => false,
            Marks::Events(events) => {
                matches!(event_pool::query(events.end.state, events.end.raw), Ok(true))
            }
        }
    }
}

impl Anchor {
    /// Blocks until an empty stream of the device has passed an event.
    fn new(clock: &HostClock, device: Device) -> Result<Anchor> {
        let stream = Stream::new(device)?;
        let event = TimedEvent::new(device.state())?;
        let before = clock.now();
        event.record(&stream);
        stream.synchronize_with(WaitPermit::ask(device, WaitReason::Timeline)?)?;
        let accuracy = (clock.now() - before) / 2;
        Ok(Anchor { event, at: before + accuracy, accuracy })
    }

    /// When the device passed an event, which is complete.
    fn time(&self, event: &TimedEvent) -> Option<Duration> {
        let state = event.state;
        state.bind().ok()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: `milliseconds` is writable, and both events are alive.
        let told = unsafe {
            (state.driver.cuEventElapsedTime)(&mut milliseconds, self.event.raw.0, event.raw.0)
        };
        let since = Duration::try_from_secs_f64(f64::from(milliseconds) / 1000.0).ok()?;
        (told == CUresult::CUDA_SUCCESS).then(|| self.at + since)
    }
}

impl TimedEvent {
    fn new(state: &'static DeviceState) -> Result<TimedEvent> {
        let raw = event_pool::create(state, CUevent_flags::CU_EVENT_DEFAULT)?;
        Ok(TimedEvent { raw, state })
    }

    /// One that was recorded now; nothing if the driver refuses that, as a lost device does.
    fn on(stream: &Stream, idle: &mut Vec<TimedEvent>) -> Option<TimedEvent> {
        let own = |event: &TimedEvent| event.state.device == stream.device();
        let event = match idle.iter().rposition(own) {
            Some(index) => idle.swap_remove(index),
            None => TimedEvent::new(stream.state()).ok()?,
        };
        event.record(stream).then_some(event)
    }

    /// Records it unnoticed: it is no work of the program. True if the driver did.
    fn record(&self, stream: &Stream) -> bool {
        // SAFETY: the event is alive, and of the stream's device.
        let recorded = unsafe { (self.state.driver.cuEventRecord)(self.raw.0, stream.raw()) };
        recorded == CUresult::CUDA_SUCCESS
    }
}

impl Drop for TimedEvent {
    fn drop(&mut self) {
        event_pool::destroy(self.state, self.raw);
    }
}

/// Keeps other timelines from asking the driver for times, since it tells each only once.
pub(super) struct OnlyOne(());

static TAKEN: AtomicBool = AtomicBool::new(false);

impl OnlyOne {
    fn begin() -> Option<OnlyOne> {
        let was_taken = TAKEN.swap(true, Ordering::AcqRel);
        (!was_taken).then(|| {
            software::tell_times(true);
            OnlyOne(())
        })
    }
}

impl Drop for OnlyOne {
    fn drop(&mut self) {
        software::tell_times(false);
        TAKEN.store(false, Ordering::Release);
    }
}
