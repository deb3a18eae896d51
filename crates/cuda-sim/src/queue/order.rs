//! What comes before what, as far as it is not complete.

use std::sync::Arc;

use super::point::{QueuePoint, StreamProgress};
use super::queue_table::QueueTable;

impl QueueTable {
    /// The points that the stream's next operation comes after, by waits and by the rules of default
    /// streams; the latest one of each stream.
    pub(super) fn awaited(&self, stream: &Arc<StreamProgress>) -> Vec<QueuePoint> {
        let mut found = vec![QueuePoint { progress: Arc::clone(stream), sequence: u64::MAX }];
        let mut next = self.default_stream_order(stream).into_vec();
        next.extend(self.awaited_before(&found[0]));
        while let Some(point) = next.pop() {
            match found.iter_mut().find(|known| known.shares_stream(&point)) {
                Some(known) if known.sequence >= point.sequence => continue,
                Some(known) => known.sequence = point.sequence,
                None => found.push(point.clone()),
            }
            next.extend(self.awaited_before(&point));
        }
        found
    }

    /// The points that the operations of a stream up to one of its points still wait for.
    fn awaited_before(&self, end: &QueuePoint) -> Vec<QueuePoint> {
        let Some(queue) = self.get(&end.progress) else { return Vec::new() };
        let begun = queue.enqueued - queue.pending.len() as u64;
        let before = usize::try_from(end.sequence.saturating_sub(begun)).unwrap_or(usize::MAX);
        let waiting = queue.pending.iter().take(before);
        waiting.flat_map(|operation| operation.after.iter().cloned()).collect()
    }
}
