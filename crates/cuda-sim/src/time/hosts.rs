//! The virtual clocks of the host's threads.

use std::collections::BTreeMap;

use super::position::StreamPosition;

/// The host's threads that called the driver, by number.
#[derive(Debug, Default)]
pub(super) struct Hosts {
    threads: BTreeMap<u64, Host>,
    /// The number of threads that have called, and the number that must before anything is decided.
    entered: usize,
    expected: usize,
}

#[derive(Debug)]
struct Host {
    clock: u64,
    next: NextCall,
    /// The operating system's number of the thread.
    system: i32,
    /// The number of times that it had been switched to another thread when it was last found
    /// asleep.
    slept: Option<u64>,
}

/// The state of a thread, which says when its next call can come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextCall {
    /// It comes no earlier than its clock says.
    Active,
    /// It comes when that is done.
    Waiting(StreamPosition),
    /// It has waited, and the driver is about to let it go on, in virtual time at least: its next
    /// call comes no earlier than its clock says, whatever the thread does meanwhile.
    Returning,
    /// It waits for something that the driver does not know.
    Aside,
}

impl Hosts {
    /// Enters a thread. It begins where the one that is furthest behind is, which may have made it.
    pub(super) fn enter(&mut self, number: u64, system: i32) {
        let clock = self.threads.values().map(|host| host.clock).min().unwrap_or(0);
        let host = Host { clock, next: NextCall::Active, system, slept: None };
        self.threads.insert(number, host);
        self.entered += 1;
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
        if host.next == NextCall::Aside {
            host.clock = host.clock.max(decided);
        }
        host.next = NextCall::Active;
        host.clock = host.clock.saturating_add(time);
    }

    /// Moves a thread's clock forward to a time.
    pub(super) fn advance(&mut self, number: u64, to: u64) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.clock = host.clock.max(to);
        }
    }

    pub(super) fn wait(&mut self, number: u64, awaited: StreamPosition) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.next = NextCall::Waiting(awaited);
        }
    }

    /// Lets a thread that begins to wait go on at the time that is decided for what it waits for.
    pub(super) fn returns(&mut self, number: u64, at: u64) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.clock = host.clock.max(at);
            host.next = NextCall::Returning;
        }
    }

    /// Lets the threads go on that wait for something which is decided to be done at a time.
    pub(super) fn wake(&mut self, done: StreamPosition, at: u64) {
        for host in self.threads.values_mut() {
            if matches!(host.next, NextCall::Waiting(awaited) if awaited.is_by(done)) {
                host.clock = host.clock.max(at);
                host.next = NextCall::Returning;
            }
        }
    }

    /// No call that is yet to be made comes earlier. `except` is a thread that makes none.
    pub(super) fn horizon(&self, except: Option<u64>) -> u64 {
        if self.entered < self.expected {
            return 0;
        }
        // A thread that waits calls no earlier than what it waits for ends, and that begins no
        // earlier than what is decided next: it need not be waited for. So the simulation never
        // waits for itself.
        let comes = |host: &Host| matches!(host.next, NextCall::Active | NextCall::Returning);
        let active =
            self.threads.iter().filter(|(number, host)| comes(host) && Some(**number) != except);
        active.map(|(_, host)| host.clock).min().unwrap_or(u64::MAX)
    }

    /// The threads that hold up a decision until `time` and do nothing, or all that hold it up.
    /// `asleep` says how often a thread has been switched to another one, if it is asleep: it does
    /// nothing if it is found asleep twice and has not run meanwhile. One that the driver is about
    /// to let go on may well sleep: until the bytes are there whose time is decided.
    pub(super) fn stuck(
        &mut self,
        except: u64,
        time: u64,
        all: bool,
        asleep: impl Fn(i32) -> Option<u64>,
    ) -> Vec<u64> {
        let mut stuck = Vec::new();
        for (&number, host) in &mut self.threads {
            if number == except || host.clock >= time {
                continue;
            }
            let is_stuck = match host.next {
                NextCall::Active => {
                    let slept = asleep(host.system);
                    let still = slept.is_some() && slept == host.slept;
                    host.slept = slept;
                    all || still
                }
                NextCall::Returning => all,
                NextCall::Waiting(_) | NextCall::Aside => false,
            };
            if is_stuck {
                stuck.push(number);
            }
        }
        stuck
    }

    /// Decides without a thread.
    pub(super) fn set_aside(&mut self, number: u64) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.next = NextCall::Aside;
        }
    }
}
