//! What the policy says when it cannot serve a request.

use super::{BestFit, State, size};
use crate::policy::slab::Slot;
use crate::policy::{Certificate, KeptBy, OutOfMemoryReport, Refused, Share, StreamName};

impl<K: StreamName> BestFit<K> {
    pub(super) fn out_of_memory(
        &self,
        requested: u64,
        size: u64,
        refused: Refused,
    ) -> OutOfMemoryReport {
        OutOfMemoryReport {
            requested,
            rounded: size,
            segment_type: None,
            needed: size::in_pages(size),
            largest_suitable: u64::MAX,
            allocated: self.statistics.active_bytes.current - self.pending_bytes,
            pending: self.pending_bytes,
            reserved: self.statistics.allocated_bytes.current,
            largest_free_block: self.free.last().map_or(0, |free| free.bytes),
            cached_for_other_streams: 0,
            kept_for_graphs: 0,
            kept_for_pools: 0,
            takes_any: false,
            certificate: Certificate { refused, place: None, shares: self.shares() },
        }
    }

    /// Each segment.
    pub(super) fn shares(&self) -> Vec<Share> {
        let heads = self.blocks.entries().filter(|(_, block)| block.previous.is_none());
        let mut shares: Vec<_> = heads.map(|(slot, _)| self.share(slot)).collect();
        shares.sort_unstable_by_key(|share| share.address);
        shares
    }

    fn share(&self, first: Slot) -> Share {
        let blocks = std::iter::successors(Some(first), |slot| self.blocks[*slot].next);
        let address = Some(self.blocks[first].address);
        let mut share = Share { address, bytes: 0, held: 0, waiting: 0, kept_by: KeptBy::Nobody };
        for block in blocks.map(|slot| &self.blocks[slot]) {
            share.bytes += block.bytes;
            match block.state {
                State::Free => continue,
                State::Allocated => share.held += block.bytes,
                State::Pending => share.waiting += block.bytes,
            }
            share.kept_by = KeptBy::Holders;
        }
        share
    }
}
