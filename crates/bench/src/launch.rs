//! Launches of a kernel that does nothing: through the runtime, and by the driver's calls alone.

use std::time::{Duration, Instant};

use crate::error::Result;
use crate::harness::Bench;
use crate::launcher::{DriverLauncher, Launcher, Runtime};
use crate::metric::Metric::{Nanoseconds, NanosecondsOfEach};
use crate::place::BenchTarget;

/// Launches that are enqueued before they are waited for, so few that no driver's queue is full.
const ENQUEUED: u32 = 500;
/// Launches that are executed in one go.
const EXECUTED: u32 = 10_000;

pub(crate) fn run(bench: &mut Bench, place: &BenchTarget) -> Result<()> {
    let gpu = place.gpu()?;
    of(bench, "runtime", &Runtime::new(gpu)?)?;
    of(bench, "driver", &DriverLauncher::new(gpu)?)
}

fn of(bench: &mut Bench, name: &str, launcher: &impl Launcher) -> Result<()> {
    bench
        .timed(&format!("launch/enqueue_{name}"), Nanoseconds, |calls| enqueue(launcher, calls))?;
    let each = NanosecondsOfEach { pieces: EXECUTED };
    bench.timed(&format!("launch/execute_10k_{name}"), each, |calls| execute(launcher, calls))
}

/// The time of the calls that enqueue. Waiting for what is enqueued does not count.
fn enqueue(launcher: &impl Launcher, launches: u32) -> Result<Duration> {
    let mut time = Duration::ZERO;
    let mut left = launches;
    while left > 0 {
        let now = left.min(ENQUEUED);
        let start = Instant::now();
        for _ in 0..now {
            launcher.launch()?;
        }
        time += start.elapsed();
        launcher.finish()?;
        left -= now;
    }
    Ok(time)
}

/// The time from the first call until all launches were executed.
fn execute(launcher: &impl Launcher, rounds: u32) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..rounds {
        for _ in 0..EXECUTED {
            launcher.launch()?;
        }
        launcher.finish()?;
    }
    Ok(start.elapsed())
}
