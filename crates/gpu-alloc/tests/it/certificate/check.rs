//! Whether a certificate says what is so, and whether that is enough for a refusal.

use gpu_alloc::policy::{
    OutOfMemoryReport, PoolOf, RequestKind, Retention, SegmentUsage, SourceCall,
};

use super::rules::{PAGE, Request, Rules};
use super::world::{World, overlap};

/// A finding: what the certificate says, or leaves out, wrongly.
pub(super) type Verdict = Result<(), String>;

macro_rules! ensure {
    ($holds:expr, $($what:tt)*) => {
        if !$holds {
            return Err(format!($($what)*));
        }
    };
}

/// What is known of a refusal besides the world.
#[derive(Debug)]
pub(super) struct Refusal<'a> {
    pub(super) request: Request,
    /// The calls that were made for it.
    pub(super) calls: &'a [SourceCall],
    pub(super) capacity: u64,
    /// Whether the source failed for once, though it had memory.
    pub(super) has_failed: bool,
}

impl Refusal<'_> {
    /// Checks every figure of a certificate; and that nothing would have done, if no work is under way
    /// that this could depend on.
    pub(super) fn check(&self, world: &World, report: &OutOfMemoryReport) -> Verdict {
        let request = &self.request;
        ensure!(report.requested == request.requested, "another request");
        ensure!(report.rounded == request.block(), "a block of {} bytes", report.rounded);
        self.check_refused(world, report)?;
        self.check_shares(world, report)?;
        let longest = request.largest_run(world);
        let told = report.largest_free_block;
        ensure!(longest == told, "the longest run has {longest} bytes, not {told}");
        ensure!(longest < request.block(), "a run of {longest} bytes was overlooked");
        self.check_place(world, report)?;
        let is_settled = world.completed == world.enqueued;
        ensure!(!is_settled || report.certificate.is_final(), "all work is over");
        if is_settled && !self.has_failed {
            let shortage = request.shortage(world, self.capacity);
            ensure!(shortage > 0, "nothing is short");
            if let (Rules::Stitched, Some(place)) =
                (request.rules, report.certificate.evidence().place)
            {
                let lacking = place.missing.saturating_sub(place.supply);
                ensure!(lacking == shortage, "{shortage} pages are short, not {lacking}");
            }
        }
        Ok(())
    }

    /// The source refused what the certificate says, and was asked for nothing afterwards.
    fn check_refused(&self, world: &World, report: &OutOfMemoryReport) -> Verdict {
        let refused = report.certificate.denial();
        if refused.kind == RequestKind::Total {
            ensure!(self.calls.is_empty(), "it was asked for something: {:?}", self.calls);
            let total = world.held() + self.request.block();
            ensure!(refused.bytes == total, "{total} bytes would be held");
            ensure!(total > self.capacity, "there are {} bytes", self.capacity);
            return Ok(());
        }
        let as_told = |call: &SourceCall| match *call {
            SourceCall::Refused { bytes } => Some((RequestKind::Segment, bytes)),
            SourceCall::ReserveRefused { bytes } => Some((RequestKind::Addresses, bytes)),
            SourceCall::CreateRefused { bytes } => Some((RequestKind::Memory, bytes)),
            // The log does not have the size.
            SourceCall::MapRefused { .. } => Some((RequestKind::Mapping, refused.bytes)),
            SourceCall::AccessRefused { bytes, .. } => Some((RequestKind::Mapping, bytes)),
            _ => None,
        };
        let told = (refused.kind, refused.bytes);
        let mut all = self.calls.iter().rev().filter_map(as_told);
        let is_last = all.next() == Some(told);
        // Where a call fails for once, another may be refused for the rest.
        ensure!(
            is_last || (self.has_failed && all.any(|call| call == told)),
            "not refused: {told:?}"
        );
        ensure!(
            self.has_failed || refused.bytes == self.request.unit(),
            "{} bytes were asked for",
            refused.bytes
        );
        Ok(())
    }

    /// The shares are all that is taken, and what has become of it.
    fn check_shares(&self, world: &World, report: &OutOfMemoryReport) -> Verdict {
        let evidence = report.certificate.evidence();
        let segments = world.grounds.iter().filter(|ground| ground.is_segment);
        let mut taken: Vec<_> = segments.map(|g| g.range.end - g.range.start).collect();
        taken.extend(world.pieces.values());
        let mut told: Vec<_> = evidence.usages.iter().map(|usage| usage.bytes).collect();
        taken.sort_unstable();
        told.sort_unstable();
        ensure!(taken == told, "{taken:?} are taken, not {told:?}");
        let mut addresses: Vec<_> = evidence.usages.iter().filter_map(|s| s.address).collect();
        addresses.dedup();
        let mapped = evidence.usages.iter().filter(|usage| usage.address.is_some()).count();
        ensure!(addresses.len() == mapped, "a segment is told of twice");
        let may_stay = evidence.denial.kind == RequestKind::Total;
        let mut usages = evidence.usages.iter();
        usages.try_for_each(|usage| self.check_share(world, usage, may_stay))?;
        let told: u64 = evidence.usages.iter().map(|usage| usage.bytes).sum();
        ensure!(told == report.reserved, "{} bytes are taken", report.reserved);
        Ok(())
    }

    /// A share is as it is said to be, and gone if nothing keeps it and it may not stay.
    fn check_share(&self, world: &World, usage: &SegmentUsage, may_stay: bool) -> Verdict {
        let Some(address) = usage.address else {
            if may_stay {
                return Ok(());
            }
            return Err(format!("{usage:?} should have gone back"));
        };
        let range = address.0..address.0 + usage.bytes;
        let ground = world.ground_of(range.start);
        if ground.is_segment {
            ensure!(ground.range == range, "{usage:?} is not a segment");
        } else {
            let mapped = world.mapped.get(&range.start);
            let bytes = mapped.map(|(_, bytes)| *bytes);
            ensure!(bytes == Some(usage.bytes), "{usage:?} is not mapped there");
        }
        let (held, waiting) = world.claims(&range);
        ensure!((held, waiting) == (usage.held, usage.waiting), "{held}, {waiting}: {usage:?}");
        let is_at_work = world.completed != world.enqueued;
        let right = match (usage.retention, world.keeper(self.request.rules, ground)) {
            (told, Some(keeper)) => told == keeper,
            (Retention::Graphs | Retention::Pool(_), None) => false,
            (Retention::Allocations, None) => held + waiting > 0,
            (Retention::Work, None) => held + waiting == 0 && is_at_work,
            (Retention::None, None) => held + waiting == 0 && may_stay,
        };
        ensure!(right, "{usage:?} is not kept so");
        Ok(())
    }

    /// The place is one, and its figures are right.
    fn check_place(&self, world: &World, report: &OutOfMemoryReport) -> Verdict {
        let evidence = report.certificate.evidence();
        let Some(place) = evidence.place else { return Ok(()) };
        ensure!(evidence.denial.kind != RequestKind::Total, "no place would do");
        let unit = self.request.unit();
        let block = place.address.0..place.address.0 + report.rounded;
        ensure!(place.page_bytes == unit, "pages of {} bytes", place.page_bytes);
        let ground = world.ground_of(block.start);
        ensure!(block.end <= ground.range.end, "the place ends beyond its range");
        ensure!(world.claims(&block) == (0, 0), "the place is taken");
        let start = ground.range.start;
        let pages = (block.start - start) / unit..(block.end - start).div_ceil(unit);
        ensure!(place.pages == pages.end - pages.start, "{place:?} touches {pages:?}");
        let touched = start + pages.start * unit..start + pages.end * unit;
        let mapped: u64 =
            world.used_mappings(&touched).map(|(range, _)| overlap(&range, &touched)).sum();
        let missing = place.pages - mapped / unit;
        ensure!(missing == place.missing, "{missing} pages are missing: {place:?}");
        let may_move = |usage: &&SegmentUsage| {
            let address = usage.address.map_or(0, |address| address.0);
            self.request.rules == Rules::Stitched
                && usage.retention == Retention::Work
                && !matches!(self.request.home.pool, Some(PoolOf::Graphs(_)))
                && overlap(&(address..address + usage.bytes), &touched) == 0
        };
        let moves = evidence.usages.iter().filter(may_move);
        let moves: u64 = moves.map(|usage| usage.bytes / PAGE).sum();
        let supply = moves + evidence.denial.given / unit;
        ensure!(supply == place.supply, "{supply} pages can be had: {place:?}");
        ensure!(
            self.has_failed || !report.certificate.is_final() || place.missing > place.supply,
            "{place:?}"
        );
        Ok(())
    }
}
