//! The observer that looks for races.

use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::act::{Act, Conflict};
use super::placed::placed;
use super::report::{MissingEdge, Party, Race, RacingAccess};
use super::state::State;
use crate::error::{Error, Result};
use crate::memory::DevicePtr;
use crate::observe::{Allocation, Freed, HostAccess, HostWait, Observer, Operation, WorkId};
use crate::order::Access;
use crate::stream::{Legacy, Stream, StreamId};
use crate::virtual_memory::pieces;

/// How many different races are remembered.
const REMEMBERED: usize = 1000;

/// What becomes of a race.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is remembered, and the program goes on.
    Note,
    /// The later access is refused, and the first time a race is seen it is written to the standard
    /// error output.
    Refuse,
}

pub(super) struct Checker {
    verdict: Verdict,
    books: Mutex<Books>,
}

#[derive(Default)]
struct Books {
    state: State,
    races: Vec<Race>,
}

impl Checker {
    pub(super) fn new(verdict: Verdict) -> Checker {
        Checker { verdict, books: Mutex::default() }
    }

    /// The races so far, which are forgotten.
    pub(super) fn take(&self) -> Vec<Race> {
        std::mem::take(&mut self.books().races)
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Deals with races. The first is the error, where there is to be one.
    fn judge(&self, books: &mut Books, races: Vec<Race>) -> Result<()> {
        let first = races.first().cloned();
        for race in races {
            if books.remember(&race) && self.verdict == Verdict::Refuse {
                // A closed standard error output is no reason to fail.
                let _ = writeln!(io::stderr(), "{race}");
            }
        }
        match (self.verdict, first) {
            (Verdict::Refuse, Some(race)) => Err(Error::DataRace { race: Box::new(race) }),
            _ => Ok(()),
        }
    }
}

impl Observer for Checker {
    /// The number that the work will have is known before the driver has the work, since the stream
    /// is given one piece at a time while it is observed. Where other code enqueues on the stream
    /// too, the work may get a higher one, which can hide a race.
    fn admit(&self, operation: &Operation<'_>) -> Result<()> {
        let Operation { stream, work, place, accesses, .. } = *operation;
        let legacy = stream.legacy();
        if accesses.is_empty() && legacy == Legacy::Apart {
            return Ok(());
        }
        let id = WorkId { stream: stream.id(), sequence: stream.sequence() + 1 };
        let reached = placed(accesses);
        let mut books = self.books();
        if legacy != Legacy::Apart {
            books.state.order_by_legacy(id.stream, legacy, id.sequence);
        }
        if accesses.is_empty() {
            return Ok(());
        }
        let conflicts = books.state.conflicts(id.stream, &reached);
        if !conflicts.is_empty() {
            let party = || Party::Work { id, work: work.clone() };
            let races =
                books.races(conflicts, |access| RacingAccess { party: party(), access, place });
            self.judge(&mut books, races)?;
        }
        books.state.note(Act { id, work: work.clone(), place }, &reached);
        Ok(())
    }

    fn enqueued(&self, operation: &Operation<'_>, sequence: Option<u64>) {
        let stream = operation.stream.id();
        match (sequence, operation.awaits) {
            (Some(sequence), Some(awaited)) => self.books().state.order(stream, sequence, awaited),
            (None, _) if !operation.accesses.is_empty() => {
                let sequence = operation.stream.sequence() + 1;
                self.books().state.take_back(WorkId { stream, sequence });
            }
            _ => {}
        }
    }

    fn waited(&self, wait: &HostWait<'_>) {
        // What somebody waits for who only looks at the program orders nothing in it.
        if wait.reason.is_of_the_program() {
            let mut books = self.books();
            wait.awaits.iter().for_each(|&awaited| books.state.learn(awaited));
        }
    }

    fn learned(&self, work: WorkId) {
        self.books().state.learn(work);
    }

    fn awaited(&self, stream: &Stream, awaited: WorkId) {
        self.books().state.order(stream.id(), stream.sequence(), awaited);
    }

    fn accessing(&self, access: &HostAccess<'_>) -> Result<()> {
        let HostAccess { accesses, place } = *access;
        let reached = placed(accesses);
        let mut books = self.books();
        let conflicts = books.state.conflicts_of_host(&reached);
        if conflicts.is_empty() {
            return Ok(());
        }
        let later = |access| RacingAccess { party: Party::Host, access, place };
        let races = books.races(conflicts, later);
        self.judge(&mut books, races)
    }

    fn allocated(&self, allocation: &Allocation) {
        self.books().state.allocated(allocation);
    }

    fn freed(&self, freed: &Freed<'_>) {
        let start = freed.start.address();
        let pieces = pieces(start..start.saturating_add(freed.bytes as u64));
        self.books().state.freed(freed, &pieces);
    }
}

impl Books {
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
