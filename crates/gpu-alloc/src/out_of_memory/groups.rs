//! The holders of memory, by place, tag and stream.

use std::collections::HashMap;
use std::time::Duration;

use gpu_runtime::StreamId;

use super::HeldMemory;
use super::analysis::bytes;
use crate::observers::{AllocationRecord, CallSite};

/// The holders, in the order in which they were found.
#[derive(Default)]
pub(super) struct Groups {
    pub(super) groups: Vec<HeldMemory>,
    numbers: HashMap<(CallSite, StreamId), usize>,
}

impl Groups {
    /// Adds a block; returns its group.
    pub(super) fn add(
        &mut self,
        holder: &AllocationRecord,
        stream: StreamId,
        (size, age): (u64, u64),
        now: u64,
    ) -> usize {
        let call_site = holder.call_site;
        let number = *self.numbers.entry((call_site, stream)).or_insert_with(|| {
            let CallSite { location: place, tag } = call_site;
            let (bytes, blocks, oldest, oldest_time) = (0, 0, 0, None);
            self.groups.push(HeldMemory { place, tag, stream, bytes, blocks, oldest, oldest_time });
            self.groups.len() - 1
        });
        let group = &mut self.groups[number];
        group.bytes += bytes(size);
        group.blocks += 1;
        group.oldest = group.oldest.max(age);
        let time = holder.time.map(|time| Duration::from_micros(now.saturating_sub(time)));
        group.oldest_time = group.oldest_time.max(time);
        number
    }
}
