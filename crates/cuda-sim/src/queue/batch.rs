//! Work of several streams that counts as one operation of another: launches of graphs.

use smallvec::SmallVec;

use super::point::Point;
use super::state::{Effects, State, Work};
use super::stream::Stream;

/// One operation of a batch.
pub(crate) struct Step {
    /// Which of the batch's streams it goes to.
    pub(crate) lane: usize,
    /// Steps before it, by number, that it waits for. Those in its own lane go without saying.
    pub(crate) after: SmallVec<[usize; 2]>,
    /// A point of another stream that it waits for.
    pub(crate) outside: Option<Point>,
    /// What it does.
    pub(crate) work: Work,
}

/// Where the operations of a batch are.
#[derive(Debug)]
pub(crate) struct Enqueued {
    /// The point of each step.
    pub(crate) steps: Vec<Point>,
    /// The end of them all, in the stream that the batch is an operation of.
    pub(crate) end: Point,
}

impl Stream {
    /// Enqueues `steps` in `lanes`, as one operation of this stream: all come after what is here
    /// and after `previous`, and what is enqueued here later comes after them all. No operation of
    /// another thread can come in between.
    pub(crate) fn enqueue_batch(
        &self,
        lanes: &[&Stream],
        previous: Option<Point>,
        steps: Vec<Step>,
    ) -> Enqueued {
        self.scheduler.enqueue_several(|state, effects| {
            state.enqueue_batch(self, lanes, previous, steps, effects)
        })
    }
}

impl State {
    fn enqueue_batch(
        &mut self,
        stream: &Stream,
        lanes: &[&Stream],
        previous: Option<Point>,
        steps: Vec<Step>,
        effects: &mut Effects,
    ) -> Enqueued {
        self.number(&stream.progress);
        let before: Vec<Point> = previous.into_iter().collect();
        let start = stream.progress.watched(&before, Work::Nothing, |work| {
            self.enqueue(&stream.progress, before.iter().cloned(), work, effects)
        });
        let mut ends: Vec<Option<Point>> = vec![None; lanes.len()];
        let mut points: Vec<Point> = Vec::with_capacity(steps.len());
        for step in steps {
            let earlier = step.after.iter().map(|&index| points[index].clone());
            let begins = ends[step.lane].is_none().then(|| start.clone());
            let after: Vec<Point> = earlier.chain(begins).chain(step.outside).collect();
            let lane = &lanes[step.lane].progress;
            self.number(lane);
            let point = lane.watched(&after, step.work, |work| {
                self.enqueue(lane, after.iter().cloned(), work, effects)
            });
            ends[step.lane] = Some(point.clone());
            points.push(point);
        }
        let ends: Vec<Point> = ends.into_iter().flatten().collect();
        let end = stream.progress.watched(&ends, Work::Nothing, |work| {
            self.enqueue(&stream.progress, ends.iter().cloned(), work, effects)
        });
        Enqueued { steps: points, end }
    }
}
