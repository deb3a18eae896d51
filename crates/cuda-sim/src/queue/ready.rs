//! Who wants a seat, in the order in which they get one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::job::Running;
use super::parker::Parker;

/// How many priorities streams have, from 0, the ordinary one.
pub(super) const PRIORITIES: usize = 6;

/// The line.
#[derive(Default)]
pub(super) struct Ready {
    /// By priority, then first come, first served.
    line: VecDeque<Entry>,
    /// Jobs that somebody runs and others may join.
    shared: VecDeque<Arc<Running>>,
}

enum Entry {
    /// A job that nobody runs.
    Job(Arc<Running>),
    /// A thread that is in the middle of a job and wants its seat back. It left it because it could
    /// not go on before somebody else does, so it goes behind all.
    Resting(Arc<Parker<()>>),
}

impl Ready {
    /// Puts a job behind all that are as urgent.
    pub(super) fn push(&mut self, running: Arc<Running>) {
        let is_behind = |entry: &&Entry| entry.priority() < running.priority;
        let behind = self.line.iter().rev().take_while(is_behind).count();
        self.line.insert(self.line.len() - behind, Entry::Job(running));
    }

    pub(super) fn push_resting(&mut self, parker: Arc<Parker<()>>) {
        self.line.push_back(Entry::Resting(parker));
    }

    pub(super) fn share(&mut self, running: Arc<Running>) {
        self.shared.push_back(running);
    }

    /// The next job.
    pub(super) fn pop(&mut self) -> Option<Arc<Running>> {
        let index = self.line.iter().position(|entry| matches!(entry, Entry::Job(_)));
        match index.and_then(|index| self.line.remove(index)) {
            Some(Entry::Job(running)) => Some(running),
            _ => self.shared.pop_front(),
        }
    }

    /// The next thread that wants its seat back, among so many that are first in line.
    pub(super) fn pop_resting(&mut self, among: usize) -> Option<Arc<Parker<()>>> {
        let mut first = self.line.iter().take(among);
        let index = first.position(|entry| matches!(entry, Entry::Resting(_)))?;
        match self.line.remove(index) {
            Some(Entry::Resting(parker)) => Some(parker),
            _ => None,
        }
    }

    /// The job that is first in line.
    pub(super) fn front(&self) -> Option<&Arc<Running>> {
        match self.line.front() {
            Some(Entry::Job(running)) => Some(running),
            _ => None,
        }
    }

    /// How many come before a job; before one that is not in line, because somebody runs it, all.
    pub(super) fn before(&self, running: &Arc<Running>) -> usize {
        self.position(running).unwrap_or(self.line.len())
    }

    /// Takes a job out of line, if it is there.
    pub(super) fn remove(&mut self, running: &Arc<Running>) {
        if let Some(index) = self.position(running) {
            self.line.remove(index);
        }
    }

    /// How many stand in line.
    pub(super) fn waiting(&self) -> usize {
        self.line.len()
    }

    /// How many threads would find something to do.
    pub(super) fn len(&self) -> usize {
        self.line.len() + self.shared.len()
    }

    /// Who is in line, with the jobs as `describe` puts them.
    #[cfg(test)]
    pub(super) fn describe<D: std::fmt::Debug>(
        &self,
        describe: impl Fn(&Arc<Running>) -> D,
    ) -> String {
        let line = self.line.iter().map(|entry| match entry {
            Entry::Job(running) => Some(describe(running)),
            Entry::Resting(_) => None,
        });
        let shared: Vec<_> = self.shared.iter().map(&describe).collect();
        format!("{:?} {shared:?}", line.collect::<Vec<_>>())
    }

    fn position(&self, running: &Arc<Running>) -> Option<usize> {
        let is_it = |entry: &Entry| matches!(entry, Entry::Job(job) if Arc::ptr_eq(job, running));
        self.line.iter().position(is_it)
    }
}

impl Entry {
    fn priority(&self) -> usize {
        match self {
            Entry::Job(running) => running.priority,
            Entry::Resting(_) => 0,
        }
    }
}
