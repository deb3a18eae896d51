//! The virtual clocks of the host's threads.

use std::collections::BTreeMap;

use super::timeline::Position;

/// The host's threads that called the driver, by number.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    threads: BTreeMap<u64, Host>,
    /// How many there are to be before anything is decided.
    expected: usize,
}

#[derive(Debug)]
struct Host {
    clock: u64,
    state: State,
    /// What the operating system calls it.
    system: i32,
}

/// What is known of a thread's next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It comes no earlier than its clock says.
    Active,
    /// It comes when that is done.
    Waiting(Position),
    /// It waits for something that the driver does not know.
    Aside,
}

impl Hosts {
    /// Enters a thread. It begins where the one that is furthest behind is, which may have made it.
    pub(super) fn enter(&mut self, number: u64, system: i32) {
        let clock = self.threads.values().map(|host| host.clock).min().unwrap_or(0);
        self.threads.insert(number, Host { clock, state: State::Active, system });
    }

    pub(super) fn leave(&mut self, number: u64) {
        self.threads.remove(&number);
    }

    pub(super) fn expect(&mut self, threads: usize) {
        self.expected = threads;
    }

    pub(super) fn clock(&self, number: u64) -> u64 {
        self.threads.get(&number).map_or(0, |host| host.clock)
    }

    /// The thread makes a call that takes so long. If it was set aside, the driver does not know
    /// what it waited for: it cannot have been before what is decided.
    pub(super) fn spend(&mut self, number: u64, time: u64, decided: u64) {
        let Some(host) = self.threads.get_mut(&number) else { return };
        if host.state == State::Aside {
            host.clock = host.clock.max(decided);
        }
        host.state = State::Active;
        host.clock = host.clock.saturating_add(time);
    }

    /// Moves a thread's clock forward to a time.
    pub(super) fn advance(&mut self, number: u64, to: u64) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.clock = host.clock.max(to);
        }
    }

    pub(super) fn wait(&mut self, number: u64, awaited: Position) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.state = State::Waiting(awaited);
        }
    }

    /// Something is decided to be done at a time: who waits for it goes on then.
    pub(super) fn wake(&mut self, done: Position, at: u64) {
        for host in self.threads.values_mut() {
            if matches!(host.state, State::Waiting(awaited) if awaited.is_by(done)) {
                host.clock = host.clock.max(at);
                host.state = State::Active;
            }
        }
    }

    /// No call that is yet to be made comes earlier. `except` is a thread that makes none.
    pub(super) fn horizon(&self, except: Option<u64>) -> u64 {
        if self.threads.len() < self.expected {
            return 0;
        }
        let active = self
            .threads
            .iter()
            .filter(|(number, host)| host.state == State::Active && Some(**number) != except);
        active.map(|(_, host)| host.clock).min().unwrap_or(u64::MAX)
    }

    /// Sets aside the threads that hold up a decision until `time` and of which `is_asleep` says
    /// that they do nothing. True if there were any.
    pub(super) fn set_aside(
        &mut self,
        except: u64,
        time: u64,
        is_asleep: impl Fn(i32) -> bool,
    ) -> bool {
        let mut any = false;
        for (&number, host) in &mut self.threads {
            let holds_up = host.state == State::Active && host.clock < time;
            if holds_up && number != except && is_asleep(host.system) {
                host.state = State::Aside;
                any = true;
            }
        }
        any
    }
}
