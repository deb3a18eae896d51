//! Whose release would make a run of free memory that is long enough.

use super::{HeldPart, MemoryHolder, ReachableMemory};

/// The blocks that a run would be made of, while the search goes along a segment.
struct RunWindow {
    /// The number of the blocks that each holder has.
    blocks: Vec<usize>,
    /// The number of holders that have some, and how much they hold.
    cost: (usize, u64),
    bytes: u64,
}

impl RunWindow {
    fn add(&mut self, (bytes, held_by): HeldPart, held: &[u64]) {
        self.bytes = self.bytes.saturating_add(bytes);
        if let MemoryHolder::Holder(holder) = held_by {
            self.blocks[holder] += 1;
            if self.blocks[holder] == 1 {
                self.cost = (self.cost.0 + 1, self.cost.1.saturating_add(held[holder]));
            }
        }
    }

    fn remove(&mut self, (bytes, held_by): HeldPart, held: &[u64]) {
        self.bytes = self.bytes.saturating_sub(bytes);
        if let MemoryHolder::Holder(holder) = held_by {
            self.blocks[holder] -= 1;
            if self.blocks[holder] == 0 {
                self.cost = (self.cost.0 - 1, self.cost.1.saturating_sub(held[holder]));
            }
        }
    }
}

impl ReachableMemory {
    /// The fewest holders, given by their bytes, whose release would make such a run, and of those
    /// the least memory.
    ///
    /// It looks at each run that is long enough, and would not be without its first or last block.
    pub(super) fn enough_for_a_run(&self, held: &[u64]) -> Option<Vec<usize>> {
        let mut window = RunWindow { blocks: vec![0; held.len()], cost: (0, 0), bytes: 0 };
        let mut best: Option<((usize, u64), &[HeldPart])> = None;
        for parts in &self.segments {
            let mut start = 0;
            for (end, part) in parts.iter().enumerate() {
                if !matches!(part.1, MemoryHolder::Nobody | MemoryHolder::Holder(_)) {
                    parts[start..end].iter().for_each(|part| window.remove(*part, held));
                    start = end + 1;
                    continue;
                }
                window.add(*part, held);
                while window.bytes - parts[start].0 >= self.block {
                    window.remove(parts[start], held);
                    start += 1;
                }
                if window.bytes >= self.block && best.is_none_or(|(least, _)| window.cost < least) {
                    best = Some((window.cost, &parts[start..=end]));
                }
            }
            parts[start..].iter().for_each(|part| window.remove(*part, held));
        }
        let mut holders: Vec<_> =
            best?.1.iter().filter_map(|(_, held_by)| held_by.holder()).collect();
        holders.sort_unstable();
        holders.dedup();
        Some(holders)
    }
}
