//! The virtual clocks of the host's threads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
    /// The time of all others' clocks that it waits for, if it waits for the simulation.
    asks: Option<u64>,
    sleep: Option<Sleep>,
}

/// A thread that was found asleep when it was last looked at.
#[derive(Debug, Clone, Copy)]
struct Sleep {
    /// The number of times that it had been switched to another thread.
    switches: u64,
    since: Instant,
    /// Whether it had not run since the look before.
    is_still: bool,
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
        let host = Host { clock, next: NextCall::Active, system, asks: None, sleep: None };
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

    /// The thread waits for the simulation until all others' clocks have come to a time, or no longer.
    pub(super) fn ask(&mut self, number: u64, until: Option<u64>) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.asks = until;
        }
    }

    /// Whether the clocks of those that do not wait for the simulation have come to where a thread that
    /// does wants them.
    pub(super) fn has_news(&self) -> bool {
        let Some(wanted) = self.threads.values().filter_map(|host| host.asks).min() else {
            return false;
        };
        let comes = |host: &&Host| {
            host.asks.is_none() && matches!(host.next, NextCall::Active | NextCall::Returning)
        };
        self.threads.values().filter(comes).all(|host| host.clock >= wanted)
    }

    /// Looks at the threads that may make a call. `asleep` says how often a thread has been switched to
    /// another one, if it is asleep.
    pub(super) fn look(&mut self, except: u64, asleep: impl Fn(i32) -> Option<u64>) {
        let now = Instant::now();
        for (&number, host) in &mut self.threads {
            if number == except || host.asks.is_some() || host.next != NextCall::Active {
                host.sleep = None;
                continue;
            }
            host.sleep = asleep(host.system).map(|switches| match host.sleep {
                Some(before) if before.switches == switches => Sleep { is_still: true, ..before },
                _ => Sleep { switches, since: now, is_still: false },
            });
        }
    }

    /// Whether the operating system's number is that of one of the threads.
    pub(super) fn knows(&self, system: i32) -> bool {
        self.threads.values().any(|host| host.system == system)
    }

    /// Whether nobody does anything: all threads wait for the simulation, or sleep and have slept when
    /// they were looked at before. Whoever sleeps then waits for one of the others.
    pub(super) fn are_idle(&self, except: u64) -> bool {
        let are_here = self.entered >= self.expected;
        are_here
            && self.threads.iter().all(|(&number, host)| {
                let sleeps = host.sleep.is_some_and(|sleep| sleep.is_still);
                number == except || host.asks.is_some() || host.next == NextCall::Aside || sleeps
            })
    }

    /// The threads that hold up a decision until `time` and have done nothing for so long, or all that
    /// hold it up. One that the driver is about to let go on may well sleep: until the bytes are there
    /// whose time is decided.
    pub(super) fn stuck(&self, except: u64, time: u64, patience: Duration, all: bool) -> Vec<u64> {
        let is_stuck = |(number, host): &(&u64, &Host)| {
            let is_behind = **number != except && host.clock < time;
            let sleeps = |sleep: Sleep| sleep.is_still && sleep.since.elapsed() >= patience;
            is_behind
                && match host.next {
                    NextCall::Active => all || host.sleep.is_some_and(sleeps),
                    NextCall::Returning => all,
                    NextCall::Waiting(_) | NextCall::Aside => false,
                }
        };
        self.threads.iter().filter(is_stuck).map(|(&number, _)| number).collect()
    }

    /// Decides without a thread.
    pub(super) fn set_aside(&mut self, number: u64) {
        if let Some(host) = self.threads.get_mut(&number) {
            host.next = NextCall::Aside;
        }
    }
}
