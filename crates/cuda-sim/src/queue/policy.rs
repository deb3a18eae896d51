//! Who decides which operation runs next, where several could.

use super::split_mix::SplitMix64;
use crate::config::{Choice, Schedule, ScheduleTrace};

/// The options of a decision: streams by number, each of which could go on.
#[derive(Debug)]
pub(super) struct Options<'a> {
    /// All of them, in order.
    pub(super) streams: &'a [u32],
    /// The streams on which what somebody waits for depends. Empty if nobody waits.
    pub(super) needed: &'a [u32],
    /// Whether nothing needs to run.
    pub(super) may_stop: bool,
}

/// A way to decide.
#[derive(Debug)]
pub(super) enum SchedulePolicy {
    /// A random stream, each with the same probability.
    Even(SplitMix64),
    /// Against the program.
    Adversary(Adversary),
    /// The order of a recorded schedule.
    Replay(Replay),
    /// The choices of an exploration, by their places among the options.
    Explored(ExploredChoices),
}

/// Decides against the program, in one of several ways: what shows one missing wait hides another.
///
/// Streams with random ranks that change now and then are the scheduler of Burckhardt, Kothari,
/// Musuvathi and Nagarakatte, "A Randomized Scheduler with Probabilistic Guarantees of Finding
/// Bugs", ASPLOS 2010: whoever must come too early or too late for a bug to show is first, or last,
/// with a good probability.
#[derive(Debug)]
pub(super) struct Adversary {
    random: SplitMix64,
    /// Out of four times, how often something runs at once where nothing has to.
    eagerness: usize,
    /// Whether only what is needed runs while somebody waits.
    reluctant: bool,
    /// Whether streams have ranks.
    ranked: bool,
    /// The generator of ranks, which follow from a stream's number and from how often it has been
    /// put last.
    ranks: SplitMix64,
    demoted: Vec<u32>,
}

/// Follows a record, then always takes the first way.
#[derive(Debug)]
pub(super) struct Replay {
    choices: std::vec::IntoIter<Choice>,
    /// Whether the program asked for what was not on record.
    pub(super) diverged: bool,
}

/// The choices of one schedule among all: their places among the options.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExploredChoices {
    /// The options to take; beyond the end the first one is taken.
    pub(crate) prefix: Vec<u32>,
    /// The options that were taken, each with the number of options there were.
    pub(crate) taken: Vec<(u32, u32)>,
}

impl SchedulePolicy {
    /// The policy of a schedule. `None` if there is nothing to decide.
    pub(super) fn of(schedule: &Schedule) -> Option<SchedulePolicy> {
        match schedule {
            Schedule::Fast => None,
            Schedule::Deterministic(seed) => Some(SchedulePolicy::Even(SplitMix64::new(*seed, 0))),
            Schedule::Adversarial(seed) => Some(SchedulePolicy::Adversary(Adversary::new(*seed))),
            Schedule::Replay(ScheduleTrace { choices, .. }) => {
                Some(SchedulePolicy::Replay(Replay {
                    choices: choices.clone().into_iter(),
                    diverged: false,
                }))
            }
        }
    }

    /// Decides. There is more than one way to go.
    pub(super) fn choose(&mut self, options: &Options<'_>) -> Choice {
        match self {
            SchedulePolicy::Even(random) => {
                let stops = options.may_stop && random.chance(1, 2);
                if stops { Choice::Stop } else { among(options.streams, random) }
            }
            SchedulePolicy::Adversary(adversary) => adversary.choose(options),
            SchedulePolicy::Replay(replay) => replay.choose(options),
            SchedulePolicy::Explored(places) => places.choose(options),
        }
    }
}

impl Options<'_> {
    /// The number of options.
    pub(super) fn count(&self) -> usize {
        self.streams.len() + usize::from(self.may_stop)
    }

    /// The ways, the least eventful ones first.
    pub(super) fn ways(&self) -> impl Iterator<Item = Choice> {
        let others = self.streams.iter().filter(|stream| !self.needed.contains(stream));
        let stop = self.may_stop.then_some(Choice::Stop);
        stop.into_iter().chain(self.needed.iter().chain(others).copied().map(Choice::Run))
    }

    fn allow(&self, choice: Choice) -> bool {
        match choice {
            Choice::Stop => self.may_stop,
            Choice::Run(stream) => self.streams.contains(&stream),
        }
    }
}

impl Adversary {
    fn new(seed: u64) -> Adversary {
        let mut random = SplitMix64::new(seed, 1);
        Adversary {
            // Putting off everything finds most, so it is tried most often.
            eagerness: [0, 0, 1, 2, 4][random.below(5)],
            reluctant: random.chance(1, 2),
            ranked: random.chance(2, 3),
            ranks: SplitMix64::new(seed, 2),
            demoted: Vec::new(),
            random,
        }
    }

    fn choose(&mut self, options: &Options<'_>) -> Choice {
        if options.may_stop && !self.random.chance(self.eagerness, 4) {
            return Choice::Stop;
        }
        let directed = self.reluctant && !options.needed.is_empty();
        let streams = if directed { options.needed } else { options.streams };
        if !self.ranked {
            return among(streams, &mut self.random);
        }
        let first = streams.iter().copied().max_by_key(|&stream| self.rank(stream));
        let Some(first) = first else { return Choice::Stop };
        if self.random.chance(1, 8) {
            let index = first as usize;
            self.demoted.resize(self.demoted.len().max(index + 1), 0);
            self.demoted[index] += 1;
        }
        Choice::Run(first)
    }

    fn rank(&self, stream: u32) -> (std::cmp::Reverse<u32>, u64) {
        let demoted = self.demoted.get(stream as usize).copied().unwrap_or(0);
        let mut ranks = self.ranks.clone();
        let base = ranks.next();
        (std::cmp::Reverse(demoted), SplitMix64::new(base, u64::from(stream)).next())
    }
}

impl Replay {
    fn choose(&mut self, options: &Options<'_>) -> Choice {
        let recorded = self.choices.next();
        if let Some(choice) = recorded.filter(|&choice| options.allow(choice)) {
            return choice;
        }
        self.diverged |= recorded.is_some();
        options.ways().next().unwrap_or(Choice::Stop)
    }
}

impl ExploredChoices {
    fn choose(&mut self, options: &Options<'_>) -> Choice {
        let count = options.count() as u32;
        let wanted = self.prefix.get(self.taken.len()).copied().unwrap_or(0).min(count - 1);
        self.taken.push((wanted, count));
        options.ways().nth(wanted as usize).unwrap_or(Choice::Stop)
    }
}

fn among(streams: &[u32], random: &mut SplitMix64) -> Choice {
    match streams.len() {
        0 => Choice::Stop,
        count => Choice::Run(streams[random.below(count)]),
    }
}
