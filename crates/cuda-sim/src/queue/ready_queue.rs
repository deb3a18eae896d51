//! Who wants a slot, in the order in which they get one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::parker::Parker;
use super::running::Running;

/// The number of priorities that streams can have, from 0, the ordinary one.
pub(super) const PRIORITIES: usize = 6;

/// The line.
#[derive(Default)]
pub(super) struct ReadyQueue {
    /// The entries by priority, then first come, first served.
    line: VecDeque<ReadyEntry>,
    /// Jobs that somebody runs and others may join.
    shared: VecDeque<Arc<Running>>,
}

enum ReadyEntry {
    /// A job that nobody runs.
    Job(Arc<Running>),
    /// A thread that is in the middle of a job and wants its slot back. It left it because it could
    /// not go on before somebody else does, so it goes behind all.
    Yielded(Arc<Parker<()>>),
}

impl ReadyQueue {
    /// Puts a job behind all that are as urgent.
    pub(super) fn push(&mut self, running: Arc<Running>) {
        let is_behind = |entry: &&ReadyEntry| entry.priority() < running.priority;
        let behind = self.line.iter().rev().take_while(is_behind).count();
        self.line.insert(self.line.len() - behind, ReadyEntry::Job(running));
    }

    pub(super) fn push_yielded(&mut self, parker: Arc<Parker<()>>) {
        self.line.push_back(ReadyEntry::Yielded(parker));
    }

    pub(super) fn share(&mut self, running: Arc<Running>) {
        self.shared.push_back(running);
    }

    /// The next job.
    pub(super) fn pop(&mut self) -> Option<Arc<Running>> {
        let index = self.line.iter().position(|entry| matches!(entry, ReadyEntry::Job(_)));
        match index.and_then(|index| self.line.remove(index)) {
            Some(ReadyEntry::Job(running)) => Some(running),
            _ => self.shared.pop_front(),
        }
    }

    /// The next thread that wants its slot back, among so many that are first in line.
    pub(super) fn pop_yielded(&mut self, among: usize) -> Option<Arc<Parker<()>>> {
        let mut first = self.line.iter().take(among);
        let index = first.position(|entry| matches!(entry, ReadyEntry::Yielded(_)))?;
        match self.line.remove(index) {
            Some(ReadyEntry::Yielded(parker)) => Some(parker),
            _ => None,
        }
    }

    /// The job that is first in line.
    pub(super) fn front(&self) -> Option<&Arc<Running>> {
        match self.line.front() {
            Some(ReadyEntry::Job(running)) => Some(running),
            _ => None,
        }
    }

    /// The number of entries before a job; before one that is not in line, because somebody runs
    /// it, all.
    pub(super) fn before(&self, running: &Arc<Running>) -> usize {
        self.position(running).unwrap_or(self.line.len())
    }

    /// Takes a job out of line, if it is there.
    pub(super) fn remove(&mut self, running: &Arc<Running>) {
        if let Some(index) = self.position(running) {
            self.line.remove(index);
        }
    }

    /// The number of entries in line.
    pub(super) fn waiting(&self) -> usize {
        self.line.len()
    }

    /// The number of threads that would find something to do.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.shared.len()
    }

    /// The line in words, with the jobs as `describe` puts them.
    #[cfg(test)]
    pub(super) fn describe<D: std::fmt::Debug>(
        &self,
        describe: impl Fn(&Arc<Running>) -> D,
    ) -> String {
        let line = self.line.iter().map(|entry| match entry {
            ReadyEntry::Job(running) => Some(describe(running)),
            ReadyEntry::Yielded(_) => None,
        });
        let shared: Vec<_> = self.shared.iter().map(&describe).collect();
        format!("{:?} {shared:?}", line.collect::<Vec<_>>())
    }

    fn position(&self, running: &Arc<Running>) -> Option<usize> {
        let is_it =
            |entry: &ReadyEntry| matches!(entry, ReadyEntry::Job(job) if Arc::ptr_eq(job, running));
        self.line.iter().position(is_it)
    }
}

impl ReadyEntry {
    fn priority(&self) -> usize {
        match self {
            ReadyEntry::Job(running) => running.priority,
            ReadyEntry::Yielded(_) => 0,
        }
    }
}
