//! The orders in which the work of streams may run, and their names.

use std::fmt;
use std::str::FromStr;

/// The order in which operations run, of those that the streams' rules allow.
///
/// Its text is what `CUDA_SIM_SCHEDULE` understands: `fast`, `seed:7`, `adversarial:7`,
/// `replay:7:0.2.-.1*3`.
///
/// ```
/// use cuda_sim::control::Schedule;
///
/// let schedule: Schedule = "adversarial:7".parse()?;
/// assert_eq!(schedule, Schedule::Adversarial(7));
/// assert_eq!(schedule.to_string(), "adversarial:7");
/// # Ok::<(), cuda_sim::control::ScheduleError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Schedule {
    /// The fastest order that the machine allows; a different one each time.
    #[default]
    Fast,
    /// One operation at a time, in an order that follows from the seed. Each call that enqueues
    /// may see some of what is enqueued run.
    Deterministic(u64),
    /// One operation at a time, in an order made to show missing waits: streams overtake each
    /// other, and operations are put off until somebody waits for them, or run at once.
    Adversarial(u64),
    /// One operation at a time, in an order that was recorded.
    Replay(ScheduleTrace),
}

/// The choices that were made among operations that could have run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScheduleTrace {
    /// The seed of the order of the blocks of launches. `None` is the order of their numbers.
    pub blocks: Option<u64>,
    /// The choices, one for each time that there was one to make.
    pub choices: Vec<Choice>,
}

/// A decision of the scheduler where it had a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Choice {
    /// It let the program go on.
    Stop,
    /// It ran the next operation of a stream. Streams are numbered from 0 in the order in which
    /// they first got work under this schedule.
    Run(u32),
}

/// A text that names no schedule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{text}` is no schedule; there are fast, seed:NUMBER, adversarial:NUMBER and \
     replay:NUMBER:CHOICES"
)]
pub struct ScheduleError {
    /// The text.
    pub text: String,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Fast => write!(f, "fast"),
            Schedule::Deterministic(seed) => write!(f, "seed:{seed}"),
            Schedule::Adversarial(seed) => write!(f, "adversarial:{seed}"),
            Schedule::Replay(trace) => write!(f, "replay:{trace}"),
        }
    }
}

impl fmt::Display for ScheduleTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.blocks {
            Some(seed) => write!(f, "{seed}:")?,
            None => write!(f, "-:")?,
        }
        let runs = self.choices.chunk_by(|one, other| one == other);
        for (index, run) in runs.enumerate() {
            let dot = if index > 0 { "." } else { "" };
            match run[0] {
                Choice::Stop => write!(f, "{dot}-")?,
                Choice::Run(stream) => write!(f, "{dot}{stream}")?,
            }
            if run.len() > 1 {
                write!(f, "*{}", run.len())?;
            }
        }
        Ok(())
    }
}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let (kind, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let schedule = match kind {
            "fast" if rest.is_empty() => Some(Schedule::Fast),
            "seed" => rest.parse().ok().map(Schedule::Deterministic),
            "adversarial" => rest.parse().ok().map(Schedule::Adversarial),
            "replay" => trace(rest).map(Schedule::Replay),
            _ => None,
        };
        schedule.ok_or_else(|| ScheduleError { text: text.to_owned() })
    }
}

fn trace(text: &str) -> Option<ScheduleTrace> {
    let (blocks, choices) = text.split_once(':')?;
    let blocks = if blocks == "-" { None } else { Some(blocks.parse().ok()?) };
    let mut trace = ScheduleTrace { blocks, choices: Vec::new() };
    for run in choices.split('.').filter(|_| !choices.is_empty()) {
        let (choice, times) = run.split_once('*').unwrap_or((run, "1"));
        let choice = match choice {
            "-" => Choice::Stop,
            stream => Choice::Run(stream.parse().ok()?),
        };
        let room = MAX_CHOICES - trace.choices.len();
        let times: usize = times.parse().ok().filter(|&times| times <= room)?;
        trace.choices.extend(std::iter::repeat_n(choice, times));
    }
    Some(trace)
}

/// The number of choices that a text may stand for: a text of one page must not fill the memory.
const MAX_CHOICES: usize = 1 << 24;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn choice() -> impl Strategy<Value = Choice> {
        prop_oneof![Just(Choice::Stop), (0..4_u32).prop_map(Choice::Run)]
    }

    fn schedule() -> impl Strategy<Value = Schedule> {
        let choices = prop::collection::vec(choice(), 0..40);
        prop_oneof![
            Just(Schedule::Fast),
            any::<u64>().prop_map(Schedule::Deterministic),
            any::<u64>().prop_map(Schedule::Adversarial),
            (any::<Option<u64>>(), choices)
                .prop_map(|(blocks, choices)| Schedule::Replay(ScheduleTrace { blocks, choices })),
        ]
    }

    proptest! {
        #[test]
        fn every_schedule_is_what_its_text_says(schedule in schedule()) {
            prop_assert_eq!(schedule.to_string().parse(), Ok(schedule));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(replay|seed|fast)?:?[-0-9.*:]{0,30}") {
            let _ = text.parse::<Schedule>();
        }
    }

    #[test]
    fn a_text_that_names_no_schedule_is_an_error_that_says_what_would() {
        let endless = format!("replay:1:{}", vec!["0*16777216"; 1000].join("."));
        for text in
            ["", "quick", "seed:", "seed:-1", "replay:1", "replay:1:0..1", "fast:1", &endless]
        {
            let error = text.parse::<Schedule>().expect_err("no schedule");
            assert!(error.to_string().contains("adversarial:NUMBER"), "{error}");
        }
    }
}
