//! Flags, counters and locks in memory, by which threads of a launch order themselves.
//!
//! The rule, after the PTX memory model ("Release and acquire patterns"): a strong write or an
//! atomic operation of a thread that has executed a fence releases what the thread knew at the fence
//! (one with release semantics releases what it knows now); a strong read or an atomic operation
//! on the same address acquires all that was released there before. More generous than the model in
//! one thing: reading needs no fence, because what follows depends on what was read.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::known::{Acquired, Known};

/// The flags of one launch.
#[derive(Default)]
pub(crate) struct Flags {
    /// Whether anybody releases anything.
    any: AtomicBool,
    all: Mutex<FlagTable>,
}

#[derive(Default)]
struct FlagTable {
    by_place: HashMap<FlagAddress, u32>,
    logs: Vec<ReleaseLog>,
}

/// An address, and the block for addresses in shared memory.
pub(crate) type FlagAddress = (u64, Option<u32>);

#[derive(Default)]
struct ReleaseLog {
    releases: Vec<FlagRelease>,
    by_block: HashMap<u32, Vec<u32>>,
    /// The clocks at which threads, of blocks, released last: one that spins does so again and
    /// again.
    last: HashMap<(u32, u32), u32>,
    /// Indices of the releases by threads that had acquired another flag.
    chained: Vec<u32>,
}

/// A release: a strong write or atomic operation by which a thread makes known what it knows.
pub(crate) struct FlagRelease {
    pub(crate) block: u32,
    pub(crate) thread: u32,
    pub(crate) clock: u32,
    pub(crate) known: Arc<Known>,
}

/// The length to which chains of flags are followed: longer ones are rare, and each step multiplies
/// the search.
const MAX_DEPTH: u32 = 3;

/// The number of the last releases of a flag that are followed to others.
const MAX_FOLLOWED: usize = 16;

impl Flags {
    pub(crate) fn enable(&self) {
        self.any.store(true, Ordering::Relaxed);
    }

    /// Whether there is anything to acquire at all.
    pub(crate) fn is_enabled(&self) -> bool {
        self.any.load(Ordering::Relaxed)
    }

    pub(crate) fn release(&self, place: FlagAddress, release: FlagRelease) {
        let mut all = self.all.lock();
        let next = all.logs.len() as u32;
        let flag = *all.by_place.entry(place).or_insert(next);
        if flag == next {
            all.logs.push(ReleaseLog::default());
        }
        let log = &mut all.logs[flag as usize];
        let author = (release.block, release.thread);
        if log.last.insert(author, release.clock) == Some(release.clock) {
            return;
        }
        let index = log.releases.len() as u32;
        log.by_block.entry(release.block).or_default().push(index);
        if release.known.acquired().iter().any(|other| other.flag != flag) {
            log.chained.push(index);
        }
        log.releases.push(release);
    }

    /// The state of a flag that a read of it acquires: all releases up to now.
    pub(crate) fn acquire(&self, place: FlagAddress) -> Option<Acquired> {
        let all = self.all.lock();
        let &flag = all.by_place.get(&place)?;
        Some(Acquired { flag, upto: all.logs[flag as usize].releases.len() as u32 })
    }

    /// Whether what a thread of a block did at a clock is known to who has acquired that.
    pub(crate) fn know(&self, acquired: &[Acquired], block: u32, thread: u32, clock: u32) -> bool {
        let all = self.all.lock();
        all.know(acquired, (block, thread, clock), MAX_DEPTH)
    }
}

impl FlagTable {
    fn know(&self, acquired: &[Acquired], wanted: (u32, u32, u32), depth: u32) -> bool {
        let (block, thread, clock) = wanted;
        let direct = acquired.iter().any(|acquired| {
            let log = &self.logs[acquired.flag as usize];
            let indices = log.by_block.get(&block).map_or(&[][..], Vec::as_slice);
            let upto = indices.partition_point(|&index| index < acquired.upto);
            // Later releases know more.
            indices[..upto].iter().rev().any(|&index| {
                let release = &log.releases[index as usize];
                release.known.of(thread) >= clock
                    || release.thread == thread && release.clock >= clock
            })
        });
        direct
            || depth > 0
                && acquired.iter().any(|acquired| {
                    let log = &self.logs[acquired.flag as usize];
                    let upto = log.chained.partition_point(|&index| index < acquired.upto);
                    log.chained[..upto].iter().rev().take(MAX_FOLLOWED).any(|&index| {
                        let known = &log.releases[index as usize].known;
                        self.know(known.acquired(), wanted, depth - 1)
                    })
                })
    }
}
