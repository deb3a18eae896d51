//! The process with the software driver: measures what it is asked for.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use super::halves::HalvesProduct;
use super::launches::{BenchKernels, Compiled, PreparedLaunch};
use crate::error::{Error, Result};
use crate::launcher::{DriverLauncher, Launcher};
use crate::place::{BenchTarget, Where};

/// Launches that are enqueued before they are waited for.
const ENQUEUED: u32 = 10_000;

/// Answers questions, lines of a case and a number of calls, by the nanoseconds that they took, or
/// by what went wrong, until there are no more.
pub(crate) fn serve(workers: usize) -> Result<()> {
    let place = BenchTarget::prepare(Where::Software(Some(1)), workers)?;
    let kernels = BenchKernels::new(place.gpu()?)?;
    let mut case: Option<(String, Case)> = None;
    for line in io::stdin().lines() {
        let line = line?;
        let (name, calls) = line.split_once(' ').unwrap_or((&line, ""));
        let calls = calls.parse().map_err(|_| Error::Apart(line.clone()))?;
        let answer = match &mut case {
            Some((known, case)) if known == name => case.sample(calls),
            _ => {
                // What the case before has in memory goes first.
                case = None;
                Case::prepare(&kernels, name).and_then(|prepared| {
                    let (_, prepared) = case.insert((name.to_owned(), prepared));
                    prepared.sample(calls)
                })
            }
        };
        let mut output = io::stdout().lock();
        match answer {
            Ok(time) => writeln!(output, "{}", time.as_nanos())?,
            Err(error) => writeln!(output, "{error}")?,
        }
        output.flush()?;
    }
    Ok(())
}

/// Something to measure.
enum Case<'a> {
    Work(PreparedLaunch),
    Halves(HalvesProduct),
    Enqueue(DriverLauncher),
    Execute(DriverLauncher),
    Compile(&'a BenchKernels, Compiled),
}

impl Case<'_> {
    fn prepare<'a>(kernels: &'a BenchKernels, name: &str) -> Result<Case<'a>> {
        Ok(match name {
            "launch_enqueue" => Case::Enqueue(DriverLauncher::new(kernels.device())?),
            "launch_executed" => Case::Execute(DriverLauncher::new(kernels.device())?),
            "matmul_halves_512" => Case::Halves(HalvesProduct::prepare()?),
            "compile" => Case::Compile(kernels, Compiled::Sum),
            "compile_unrolled" => Case::Compile(kernels, Compiled::Matmul),
            _ => Case::Work(kernels.prepare(name)?),
        })
    }

    /// The time of so many calls.
    fn sample(&mut self, calls: u32) -> Result<Duration> {
        match self {
            Case::Work(work) => {
                let start = Instant::now();
                (0..calls).try_for_each(|_| work.launch())?;
                work.finish()?;
                Ok(start.elapsed())
            }
            Case::Halves(product) => {
                let start = Instant::now();
                (0..calls).try_for_each(|_| product.launch().map(drop))?;
                product.finish()?;
                Ok(start.elapsed())
            }
            Case::Enqueue(bare) => of_many(bare, calls, false),
            Case::Execute(bare) => of_many(bare, calls, true),
            Case::Compile(kernels, kernel) => (0..calls).map(|_| kernels.compile(*kernel)).sum(),
        }
    }
}

/// The time of that many launches, taken from many more that are made in one go; with the waiting
/// for them, or without.
fn of_many(bare: &DriverLauncher, launches: u32, waiting: bool) -> Result<Duration> {
    let start = Instant::now();
    (0..ENQUEUED).try_for_each(|_| bare.launch())?;
    let enqueued = start.elapsed();
    bare.finish()?;
    let time = if waiting { start.elapsed() } else { enqueued };
    Ok(time.mul_f64(f64::from(launches) / f64::from(ENQUEUED)))
}
