//! The observer that looks for races.

use std::io::{self, Write};

use parking_lot::{Mutex, MutexGuard};

use super::act::{Act, Conflict};
use super::placed::placed;
use super::state::RaceState;
use crate::error::{Error, MissingEdge, Party, Race, RacingAccess, Result};
use crate::observe::{EnqueuedWork, Freed, HostAccess, HostWait, Observer};
use crate::stream::{Legacy, Stream};
use crate::types::{Access, Allocation, DevicePtr, StreamId, WorkId};
use crate::virtual_memory::address_runs;

/// The number of different races that are remembered.
const REMEMBERED: usize = 1000;

/// The response to a race.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RaceResponse {
    /// It is remembered, and the program goes on.
    Note,
    /// The later access is refused, and the first time a race is seen it is written to the standard
    /// error output.
    Refuse,
}

pub(super) struct Checker {
    response: RaceResponse,
    log: Mutex<RaceLog>,
}

#[derive(Default)]
struct RaceLog {
    state: RaceState,
    races: Vec<Race>,
}

impl Checker {
    pub(super) fn new(response: RaceResponse) -> Checker {
        Checker { response, log: Mutex::default() }
    }

    /// The races so far, which are forgotten.
    pub(super) fn take(&self) -> Vec<Race> {
        std::mem::take(&mut self.log().races)
    }

    fn log(&self) -> MutexGuard<'_, RaceLog> {
        self.log.lock()
    }

    /// Deals with races. The first is the error, where there is to be one.
    fn judge(&self, log: &mut RaceLog, races: Vec<Race>) -> Result<()> {
        let first = races.first().cloned();
        for race in races {
            if log.remember(&race) && self.response == RaceResponse::Refuse {
                // A closed standard error output is no reason to fail.
                let _ = writeln!(io::stderr(), "{race}");
            }
        }
        match (self.response, first) {
            (RaceResponse::Refuse, Some(race)) => Err(Error::DataRace { race: Box::new(race) }),
            _ => Ok(()),
        }
    }
}

impl Observer for Checker {
    /// The number that the work will have is known before the driver has the work, since the stream
    /// is given one piece at a time while it is observed. Where other code enqueues on the stream
    /// too, the work may get a higher one, which can hide a race.
    fn admit(&self, operation: &EnqueuedWork<'_>) -> Result<()> {
        let EnqueuedWork { stream, work, place, accesses, .. } = *operation;
        let legacy = stream.legacy();
        if accesses.is_empty() && legacy == Legacy::Apart {
            return Ok(());
        }
        let id = WorkId { stream: stream.id(), sequence: stream.sequence() + 1 };
        let reached = placed(accesses);
        let mut log = self.log();
        if legacy != Legacy::Apart {
            log.state.order_by_legacy(id.stream, legacy, id.sequence);
        }
        if accesses.is_empty() {
            return Ok(());
        }
        let conflicts = log.state.conflicts(id.stream, &reached);
        if !conflicts.is_empty() {
            let party = || Party::Work { id, work: work.clone() };
            let races =
                log.races(conflicts, |access| RacingAccess { party: party(), access, place });
            self.judge(&mut log, races)?;
        }
        log.state.note(Act { id, work: work.clone(), place }, &reached);
        Ok(())
    }

    fn enqueued(&self, operation: &EnqueuedWork<'_>, sequence: Option<u64>) {
        let stream = operation.stream.id();
        match (sequence, operation.awaits) {
            (Some(sequence), Some(awaited)) => self.log().state.order(stream, sequence, awaited),
            (None, _) if !operation.accesses.is_empty() => {
                let sequence = operation.stream.sequence() + 1;
                self.log().state.take_back(WorkId { stream, sequence });
            }
            _ => {}
        }
    }

    fn waited(&self, wait: &HostWait<'_>) {
        // What somebody waits for who only looks at the program orders nothing in it.
        if wait.reason.is_of_the_program() {
            let mut log = self.log();
            wait.awaits.iter().for_each(|&awaited| log.state.learn(awaited));
        }
    }

    fn learned(&self, work: WorkId) {
        self.log().state.learn(work);
    }

    fn awaited(&self, stream: &Stream, awaited: WorkId) {
        self.log().state.order(stream.id(), stream.sequence(), awaited);
    }

    fn accessing(&self, access: &HostAccess<'_>) -> Result<()> {
        let HostAccess { accesses, place } = *access;
        let reached = placed(accesses);
        let mut log = self.log();
        let conflicts = log.state.conflicts_of_host(&reached);
        if conflicts.is_empty() {
            return Ok(());
        }
        let later = |access| RacingAccess { party: Party::Host, access, place };
        let races = log.races(conflicts, later);
        self.judge(&mut log, races)
    }

    fn allocated(&self, allocation: &Allocation) {
        self.log().state.allocated(allocation);
    }

    fn freed(&self, freed: &Freed<'_>) {
        let start = freed.start.address();
        let address_runs = address_runs(start..start.saturating_add(freed.bytes as u64));
        self.log().state.freed(freed, &address_runs);
    }
}

impl RaceLog {
    fn races(&self, conflicts: Vec<Conflict>, later: impl Fn(Access) -> RacingAccess) -> Vec<Race> {
        let race = |conflict: Conflict| {
            let Conflict { earlier, earlier_access, later_access, range, place: at } = conflict;
            let Act { id, work, place } = &*earlier.act;
            let later = later(later_access);
            let before: Option<StreamId> = later.stream();
            Race {
                earlier: RacingAccess {
                    party: Party::Work { id: *id, work: work.clone() },
                    access: earlier_access,
                    place,
                },
                start: DevicePtr::from_address(range.start),
                bytes: (range.end - range.start) as usize,
                allocation: self.state.memory_at(range.start, at),
                former: earlier.former.as_deref().copied(),
                missing: MissingEdge {
                    after: *id,
                    before,
                    awaited: self.state.reach(before, id.stream),
                    is_reuse: earlier.former.is_some(),
                },
                later,
                times: 1,
            }
        };
        conflicts.into_iter().map(race).collect()
    }

    /// Whether it is new.
    fn remember(&mut self, race: &Race) -> bool {
        if let Some(known) = self.races.iter_mut().find(|known| known.is_like(race)) {
            known.times += 1;
            return false;
        }
        if self.races.len() < REMEMBERED {
            self.races.push(race.clone());
        }
        true
    }
}
