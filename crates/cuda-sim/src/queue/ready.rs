//! Jobs that want a thread, in the order in which they get one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::job::Running;

/// How many priorities streams have, from 0, the ordinary one.
pub(super) const PRIORITIES: usize = 6;

/// Jobs that want a thread.
#[derive(Default)]
pub(super) struct Ready {
    waiting: [VecDeque<Arc<Running>>; PRIORITIES],
    waiting_count: usize,
    /// Jobs that somebody runs and others may join.
    shared: VecDeque<Arc<Running>>,
}

impl Ready {
    pub(super) fn push(&mut self, running: Arc<Running>) {
        self.waiting_count += 1;
        self.waiting[running.priority].push_back(running);
    }

    pub(super) fn share(&mut self, running: Arc<Running>) {
        self.shared.push_back(running);
    }

    pub(super) fn pop(&mut self) -> Option<Arc<Running>> {
        let Some(next) = self.waiting.iter_mut().rev().find_map(VecDeque::pop_front) else {
            return self.shared.pop_front();
        };
        self.waiting_count -= 1;
        Some(next)
    }

    /// Takes a job out of line, if it is the next of its priority.
    pub(super) fn remove(&mut self, running: &Arc<Running>) {
        let line = &mut self.waiting[running.priority];
        if line.front().is_some_and(|first| Arc::ptr_eq(first, running)) {
            line.pop_front();
            self.waiting_count -= 1;
        }
    }

    /// Jobs that nobody runs.
    pub(super) fn waiting(&self) -> usize {
        self.waiting_count
    }

    pub(super) fn len(&self) -> usize {
        self.waiting_count + self.shared.len()
    }
}
