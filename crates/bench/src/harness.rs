//! The timing of a case: warm up, size a sample, take several, report the median.

use std::cell::Cell;
use std::hint::black_box;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::args::Arguments;
use crate::error::{Error, Result};
use crate::line::ResultLine;
use crate::metric::Metric;
use crate::place::BenchTarget;
use crate::samples::Samples;

/// The time for caches, allocators and the processor's clock to settle.
const WARM_UP: Duration = Duration::from_millis(100);
/// A warm-up of slow calls ends after this, also if there was only one.
const LONGEST_WARM_UP: Duration = Duration::from_secs(1);
/// Rounds of a comparison for each sample that other cases take.
const ROUNDS: usize = 4;
/// The duration of a sample, unless one call takes longer.
const SAMPLE: f64 = 0.03;

/// Makes so many calls of something, and says how long they took.
pub(crate) type Sample<'a> = Box<dyn FnMut(u32) -> Result<Duration> + 'a>;

/// The run of the program: which cases are wanted, and what became of them.
pub(crate) struct Bench {
    peer: String,
    filters: Vec<Filter>,
    samples: usize,
    failed: Vec<String>,
}

/// A prefix of names, and whether any case had it.
struct Filter {
    prefix: String,
    matched: Cell<bool>,
}

impl Bench {
    pub(crate) fn new(args: Arguments) -> Bench {
        let peer = args.peer();
        let prefixes = args.filter.into_iter().filter(|prefix| !prefix.is_empty());
        let filters = prefixes.map(|prefix| Filter { prefix, matched: Cell::new(false) });
        let (filters, samples) = (filters.collect(), args.samples.into());
        Bench { peer, filters, samples, failed: Vec::new() }
    }

    /// Whether there may be wanted cases among those whose names begin with `group`.
    pub(crate) fn wants_group(&self, group: &str) -> bool {
        let may_match = |prefix: &str| prefix.starts_with(group) || group.starts_with(prefix);
        self.filters.is_empty() || self.filters.iter().any(|filter| may_match(&filter.prefix))
    }

    /// Whether the case is wanted. Groups ask it before they set up what takes long.
    pub(crate) fn wants(&self, case: &str) -> bool {
        let matching = self.filters.iter().filter(|filter| case.starts_with(&filter.prefix));
        let count = matching.map(|filter| filter.matched.set(true)).count();
        self.filters.is_empty() || count > 0
    }

    /// Whether any of the cases is wanted.
    pub(crate) fn wants_any(&self, cases: &[&str]) -> bool {
        // Each is asked for, so that each filter knows that it matched.
        cases.iter().filter(|case| self.wants(case)).count() > 0
    }

    /// The prefixes that ask for cases of a group, of names that begin with it.
    pub(crate) fn prefixes_in(&self, group: &str) -> Vec<String> {
        let prefixes = self.filters.iter().map(|filter| filter.prefix.as_str());
        if self.filters.is_empty() || prefixes.clone().any(|prefix| group.starts_with(prefix)) {
            return vec![group.to_owned()];
        }
        prefixes.filter(|prefix| prefix.starts_with(group)).map(str::to_owned).collect()
    }

    /// Hands on the line of a case that another process measured for this one.
    pub(crate) fn hand_on(&self, case: &str, line: &str) -> Result<()> {
        self.wants(case);
        let mut output = io::stdout().lock();
        Ok(writeln!(output, "{line}").and_then(|()| output.flush())?)
    }

    /// The name of this library in the output.
    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// The number of samples of each case.
    pub(crate) fn samples(&self) -> usize {
        self.samples
    }

    /// Times calls of `work`. What they return is dropped within the time; on a GPU a sample ends
    /// when the device has done the work.
    pub(crate) fn case<T, E: Into<Error>>(
        &mut self,
        place: &BenchTarget,
        case: &str,
        metric: Metric,
        mut work: impl FnMut() -> Result<T, E>,
    ) -> Result<()> {
        self.timed(case, metric, |calls| {
            let start = Instant::now();
            for _ in 0..calls {
                black_box(work().map_err(Into::into)?);
            }
            place.finish()?;
            Ok(start.elapsed())
        })
    }

    /// Measures a case like [`case`](Self::case), but the work measures its own time, of as many
    /// calls as it is told.
    pub(crate) fn timed(
        &mut self,
        case: &str,
        metric: Metric,
        sample: impl FnMut(u32) -> Result<Duration>,
    ) -> Result<()> {
        if !self.wants(case) {
            return Ok(());
        }
        let samples = measure(self.samples, sample);
        self.report(case, metric, samples)
    }

    /// Compares the time of some work with that of something else, as [`timed`](Self::timed) work
    /// says it. They take turns, and of each the fastest round counts, which nothing else that the
    /// machine does has disturbed.
    pub(crate) fn best_against(
        &mut self,
        case: &str,
        other: impl FnMut(u32) -> Result<Duration>,
        work: impl FnMut(u32) -> Result<Duration>,
    ) -> Result<()> {
        let times = self.fastest([Box::new(other), Box::new(work)]);
        self.report(case, Metric::Ratio, times.map(|[unit, best]| vec![best / unit]))
    }

    /// The seconds of one call of each. They take turns, and of each the fastest round counts.
    pub(crate) fn fastest<const N: usize>(&self, sides: [Sample<'_>; N]) -> Result<[f64; N]> {
        fastest(self.samples * ROUNDS, sides)
    }

    /// Reports the seconds of one call, if the case is wanted: of this library, or of a peer.
    pub(crate) fn nanoseconds(&self, peer: Option<&str>, case: &str, seconds: f64) -> Result<()> {
        if !self.wants(case) {
            return Ok(());
        }
        let samples = Samples::new(vec![seconds]);
        self.print_of(peer.unwrap_or(&self.peer), case, Metric::Nanoseconds, samples.as_ref())
    }

    /// Reports a case that was measured in a way of its own: the seconds of one call, by sample. A
    /// case that failed is reported without a number, and fails the program when all others ran.
    pub(crate) fn report(
        &mut self,
        case: &str,
        metric: Metric,
        seconds: Result<Vec<f64>>,
    ) -> Result<()> {
        let seconds = seconds.unwrap_or_else(|error| {
            self.fail(case, &error);
            Vec::new()
        });
        self.print(case, metric, Samples::new(seconds).as_ref())
    }

    /// Says why something failed, and has the program fail when all others ran.
    pub(crate) fn fail(&mut self, case: &str, error: &Error) {
        eprintln!("{case}: {error}");
        self.failed.push(case.to_owned());
    }

    /// Reports a case for which the library lacks the operation.
    pub(crate) fn missing(&self, case: &str, metric: Metric) -> Result<()> {
        if self.wants(case) { self.print(case, metric, None) } else { Ok(()) }
    }

    /// Ends the run.
    ///
    /// # Errors
    /// Cases failed, or a prefix was given that no case has.
    pub(crate) fn finish(self) -> Result<()> {
        let unmatched = self.filters.into_iter().filter(|filter| !filter.matched.get());
        let unmatched: Vec<_> = unmatched.map(|filter| filter.prefix).collect();
        match (self.failed, unmatched) {
            (failed, _) if !failed.is_empty() => Err(Error::Failed(failed)),
            (_, unmatched) if !unmatched.is_empty() => Err(Error::NoSuchCase(unmatched)),
            _ => Ok(()),
        }
    }

    fn print(&self, case: &str, metric: Metric, samples: Option<&Samples>) -> Result<()> {
        self.print_of(&self.peer, case, metric, samples)
    }

    fn print_of(
        &self,
        peer: &str,
        case: &str,
        metric: Metric,
        samples: Option<&Samples>,
    ) -> Result<()> {
        let line = ResultLine::new(peer, case, metric, samples);
        Ok(line.write(io::stdout().lock())?)
    }
}

/// The seconds of one call, for each of `count` samples. `sample` makes so many calls, and says how
/// long they took.
fn measure(count: usize, mut sample: impl FnMut(u32) -> Result<Duration>) -> Result<Vec<f64>> {
    let calls = calls_in_sample(warm_up(&mut sample)?);
    (0..count).map(|_| Ok(sample(calls)?.as_secs_f64() / f64::from(calls))).collect()
}

/// The seconds of one call of each, in its fastest of `count` rounds, of which each has all of
/// them.
fn fastest<const N: usize>(count: usize, mut sides: [Sample<'_>; N]) -> Result<[f64; N]> {
    let mut calls = [0; N];
    for (calls, sample) in calls.iter_mut().zip(&mut sides) {
        *calls = calls_in_sample(warm_up(sample)?);
    }
    let mut fastest = [f64::INFINITY; N];
    for _ in 0..count {
        for ((fastest, calls), sample) in fastest.iter_mut().zip(calls).zip(&mut sides) {
            *fastest = fastest.min(sample(calls)?.as_secs_f64() / f64::from(calls));
        }
    }
    Ok(fastest)
}

/// Makes more and more calls, until the last of them say how long a call takes.
fn warm_up(sample: &mut impl FnMut(u32) -> Result<Duration>) -> Result<f64> {
    let start = Instant::now();
    let mut calls: u32 = 1;
    loop {
        let took = sample(calls)?;
        let passed = start.elapsed();
        if passed >= LONGEST_WARM_UP || (passed >= WARM_UP && calls > 1) {
            return Ok(took.as_secs_f64() / f64::from(calls));
        }
        calls = calls.saturating_mul(2);
    }
}

/// The number of calls, each of so many seconds, that make a sample.
fn calls_in_sample(seconds: f64) -> u32 {
    (SAMPLE / seconds).clamp(1.0, f64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn bench(line: &str) -> Bench {
        Bench::new(Arguments::try_parse_from(line.split_whitespace()).expect("the line is right"))
    }

    #[test]
    fn without_filters_everything_is_wanted() {
        let bench = bench("bench");
        assert!(bench.wants_group("ew/") && bench.wants("ew/add_1M"));
        assert!(bench.finish().is_ok());
    }

    #[test]
    fn a_filter_is_a_prefix_of_groups_and_cases() {
        let bench = bench("bench --filter ew/add,d");
        assert!(bench.wants_group("ew/") && bench.wants_group("dispatch/"));
        assert!(!bench.wants_group("matmul/"));
        assert!(bench.wants("ew/add_1M") && bench.wants("data/none_w0"));
        assert!(!bench.wants("ew/exp_1M"));
    }

    #[test]
    fn of_the_prefixes_a_group_gets_those_that_ask_for_its_cases() {
        let of = |line| bench(line).prefixes_in("runtime/");
        assert_eq!(of("bench"), ["runtime/"]);
        assert_eq!(of("bench --filter ew/,run"), ["runtime/"]);
        assert_eq!(
            of("bench --filter ew/,runtime/launch,runtime/ev"),
            ["runtime/launch", "runtime/ev"]
        );
    }

    #[test]
    fn a_filter_that_no_case_has_is_an_error_that_repeats_it() {
        let bench = bench("bench --filter ew/,wm/");
        assert!(bench.wants("ew/add_1M"));
        let error = bench.finish().expect_err("no case begins with wm/");
        assert!(error.is_bad_input());
        assert!(error.to_string().contains("`wm/`") && !error.to_string().contains("`ew/`"));
    }

    #[test]
    fn a_sample_has_calls_for_its_time_and_at_least_one() {
        assert_eq!([0.25, 0.03, 0.0075, 0.0].map(calls_in_sample), [1, 1, 4, u32::MAX]);
    }

    #[test]
    fn each_sample_is_divided_by_its_calls() {
        let mut asked = Vec::new();
        let seconds = measure(3, |calls| {
            asked.push(calls);
            Ok(Duration::from_secs(2) * calls)
        });
        assert_eq!(seconds.expect("nothing fails"), [2.0; 3]);
        assert_eq!(asked[asked.len() - 3..], [1; 3], "calls of two seconds are made one by one");
    }

    #[test]
    fn of_several_ways_the_fastest_rounds_count() {
        let disturbed = |seconds: [u64; 4]| -> Sample<'_> {
            let mut rounds = seconds.into_iter().cycle();
            Box::new(move |calls| Ok(Duration::from_secs(rounds.next().unwrap_or(1)) * calls))
        };
        let seconds = fastest(4, [disturbed([9, 6, 7, 8]), disturbed([2, 9, 9, 3])]);
        assert_eq!(seconds.expect("nothing fails"), [6.0, 2.0]);
    }

    #[test]
    fn a_failing_case_ends_with_its_error() {
        let failing = |_| Err(Error::Apart("gone".to_owned()));
        assert!(matches!(measure(3, failing), Err(Error::Apart(_))));
    }
}
