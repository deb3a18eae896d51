//! Schedules that run one operation at a time: what could run, what runs, what was chosen.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::health::Health;
use super::job::Job;
use super::point::StreamProgress;
use super::policy::{ExploredChoices, Options, SchedulePolicy};
use super::running::run_pieces;
use super::split_mix::SplitMix64;
use crate::config::{Choice, Schedule, ScheduleTrace};

/// The state of a schedule that is not [`Schedule::Fast`].
#[derive(Debug)]
pub(super) struct Stepper {
    policy: SchedulePolicy,
    trace: ScheduleTrace,
    /// The number of operations that were begun.
    begun: u64,
    /// The streams that got work, by number.
    numbered: u32,
    /// The streams whose next operation could run.
    enabled: BTreeMap<u32, Arc<StreamProgress>>,
    running: Vec<RunningStep>,
    /// Counts what the host and the streams do: while it stands still, nobody does anything.
    pub(super) activity: u64,
}

/// An operation that runs.
#[derive(Debug)]
struct RunningStep {
    stream: Arc<StreamProgress>,
    life: Arc<AtomicU64>,
    /// Whether it seems to wait for something that must happen meanwhile.
    left_behind: bool,
}

impl Stepper {
    /// The state of a schedule. `None` if operations are not to be chosen one by one.
    pub(super) fn new(schedule: &Schedule) -> Option<Stepper> {
        let blocks = match schedule {
            Schedule::Fast => None,
            Schedule::Deterministic(seed) | Schedule::Adversarial(seed) => Some(*seed),
            Schedule::Replay(trace) => trace.blocks,
        };
        SchedulePolicy::of(schedule).map(|policy| Stepper::with(policy, blocks))
    }

    /// The state of one schedule among all.
    pub(super) fn exploring(places: ExploredChoices) -> Stepper {
        Stepper::with(SchedulePolicy::Explored(places), None)
    }

    fn with(policy: SchedulePolicy, blocks: Option<u64>) -> Stepper {
        Stepper {
            policy,
            trace: ScheduleTrace { blocks, choices: Vec::new() },
            begun: 0,
            numbered: 0,
            enabled: BTreeMap::new(),
            running: Vec::new(),
            activity: 0,
        }
    }

    /// The choices so far.
    pub(super) fn trace(&self) -> &ScheduleTrace {
        &self.trace
    }

    /// The choices of an exploration by their places among the options, if that is what was asked
    /// for.
    pub(super) fn places(&self) -> Option<&ExploredChoices> {
        match &self.policy {
            SchedulePolicy::Explored(places) => Some(places),
            _ => None,
        }
    }

    /// Whether a recorded schedule did not fit the program.
    pub(super) fn has_diverged(&self) -> bool {
        matches!(&self.policy, SchedulePolicy::Replay(replay) if replay.diverged)
    }

    /// A number for a stream that gets its first work.
    pub(super) fn number(&mut self) -> u32 {
        self.numbered += 1;
        self.numbered - 1
    }

    /// The stream's next operation could run.
    pub(super) fn enable(&mut self, number: u32, stream: &Arc<StreamProgress>) {
        self.enabled.insert(number, Arc::clone(stream));
    }

    /// Whether anything could run.
    pub(super) fn has_enabled(&self) -> bool {
        !self.enabled.is_empty()
    }

    /// Whether the stream's next operation could run.
    pub(super) fn is_enabled(&self, number: u32) -> bool {
        self.enabled.contains_key(&number)
    }

    /// Decides which stream goes on, and takes it out of those that could.
    pub(super) fn choose(&mut self, needed: &[u32], may_stop: bool) -> Option<Arc<StreamProgress>> {
        let streams: Vec<u32> = self.enabled.keys().copied().collect();
        let options = Options { streams: &streams, needed, may_stop };
        let choice = match options.count() {
            0 => Choice::Stop,
            1 => options.ways().next()?,
            _ => {
                let choice = self.policy.choose(&options);
                self.trace.choices.push(choice);
                choice
            }
        };
        match choice {
            Choice::Stop => None,
            Choice::Run(stream) => self.enabled.remove(&stream),
        }
    }

    /// An operation begins. Returns the order of its pieces, and where it is to give signs of life.
    pub(super) fn begin(&mut self, stream: &Arc<StreamProgress>) -> (PieceOrder, Arc<AtomicU64>) {
        self.begun += 1;
        self.activity += 1;
        let life = Arc::new(AtomicU64::new(0));
        let stream = Arc::clone(stream);
        self.running.push(RunningStep { stream, life: Arc::clone(&life), left_behind: false });
        (
            PieceOrder {
                blocks: self.trace.blocks.map(|seed| SplitMix64::new(seed, 3 + self.begun)),
            },
            life,
        )
    }

    /// An operation has ended.
    pub(super) fn end(&mut self, stream: &Arc<StreamProgress>) {
        self.activity += 1;
        self.running.retain(|step| !Arc::ptr_eq(&step.stream, stream));
    }

    /// Whether an operation runs whose end is to be waited for.
    pub(super) fn is_busy(&self) -> bool {
        self.running.iter().any(|step| !step.left_behind)
    }

    /// Grows as long as something happens.
    pub(super) fn signs_of_life(&self) -> u64 {
        let lives = self.running.iter().map(|step| step.life.load(Ordering::Relaxed));
        self.activity + lives.sum::<u64>()
    }

    /// Leaves what runs behind, since it gives no sign of life: others go on meanwhile.
    pub(super) fn leave_behind(&mut self) {
        self.running.iter_mut().for_each(|step| step.left_behind = true);
    }
}

/// The order in which a job's pieces run.
#[derive(Debug)]
pub(super) struct PieceOrder {
    blocks: Option<SplitMix64>,
}

impl PieceOrder {
    /// Runs all pieces of a job on the calling thread.
    pub(super) fn run(self, job: &dyn Job, health: &Health, life: &AtomicU64) {
        /// Pieces of a job that runs in any order are bundled to no more than this many.
        const MAX_BUNDLES: u64 = 256;
        let pieces = job.pieces();
        let size = pieces.div_ceil(MAX_BUNDLES).max(1);
        let bundle = |index: u64| index * size..((index + 1) * size).min(pieces);
        let mut bundles: Vec<Range<u64>> = (0..pieces.div_ceil(size)).map(bundle).collect();
        if let Some(mut random) = self.blocks {
            random.shuffle(&mut bundles);
        }
        for bundle in bundles {
            if health.is_stopped() || !run_pieces(job, bundle, health) {
                return;
            }
            life.fetch_add(1, Ordering::Relaxed);
        }
    }
}
