//! Work of several streams that counts as one operation of another: launches of graphs.

use smallvec::SmallVec;

use super::checked;
use super::effects::Effects;
use super::point::QueuePoint;
use super::state::SchedulerState;
use super::stream::Stream;
use super::work::StreamWork;

/// One operation of a batch.
pub(crate) struct BatchStep {
    /// The index of the stream that it goes to, among the batch's.
    pub(crate) lane: usize,
    /// Steps before it, by number, that it waits for. Those in its own lane go without saying.
    pub(crate) after: SmallVec<[usize; 2]>,
    /// A point of another stream that it waits for.
    pub(crate) outside: Option<QueuePoint>,
    /// The work that it does.
    pub(crate) work: StreamWork,
}

/// The points at which the operations of a batch end.
#[derive(Debug)]
pub(crate) struct Enqueued {
    /// The point of each step.
    pub(crate) steps: Vec<QueuePoint>,
    /// The end of them all, in the stream that the batch is an operation of.
    pub(crate) end: QueuePoint,
}

impl Stream {
    /// Enqueues `steps` in `lanes`, as one operation of this stream: all come after what is here
    /// and after `previous`, and what is enqueued here later comes after them all. No operation of
    /// another thread can come in between.
    pub(crate) fn enqueue_batch(
        &self,
        lanes: &[&Stream],
        previous: Option<QueuePoint>,
        steps: Vec<BatchStep>,
    ) -> Enqueued {
        self.scheduler.enqueue_several(|state, effects| {
            state.enqueue_batch(self, lanes, previous, steps, effects)
        })
    }
}

impl SchedulerState {
    fn enqueue_batch(
        &mut self,
        stream: &Stream,
        lanes: &[&Stream],
        previous: Option<QueuePoint>,
        steps: Vec<BatchStep>,
        effects: &mut Effects,
    ) -> Enqueued {
        self.number(&stream.progress);
        let before: Vec<QueuePoint> = previous.into_iter().collect();
        let start = checked::enqueue(&stream.progress, &before, StreamWork::Nothing, |work| {
            self.enqueue(&stream.progress, before.iter().cloned(), work, effects)
        });
        let mut ends: Vec<Option<QueuePoint>> = vec![None; lanes.len()];
        let mut points: Vec<QueuePoint> = Vec::with_capacity(steps.len());
        for step in steps {
            let earlier = step.after.iter().map(|&index| points[index].clone());
            let begins = ends[step.lane].is_none().then(|| start.clone());
            let after: Vec<QueuePoint> = earlier.chain(begins).chain(step.outside).collect();
            let lane = &lanes[step.lane].progress;
            self.number(lane);
            let point = checked::enqueue(lane, &after, step.work, |work| {
                self.enqueue(lane, after.iter().cloned(), work, effects)
            });
            ends[step.lane] = Some(point.clone());
            points.push(point);
        }
        let ends: Vec<QueuePoint> = ends.into_iter().flatten().collect();
        let end = checked::enqueue(&stream.progress, &ends, StreamWork::Nothing, |work| {
            self.enqueue(&stream.progress, ends.iter().cloned(), work, effects)
        });
        Enqueued { steps: points, end }
    }
}
