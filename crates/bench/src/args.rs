//! The command line.

use clap::{Parser, Subcommand};

use crate::place::Where;
use crate::scaling::ScalingArguments;

/// Measures Sluice and prints a JSON line for each case.
#[derive(Debug, Parser)]
#[command(name = "bench")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<BenchCommand>,
    /// Run only cases whose names begin with one of these
    #[arg(long, value_delimiter = ',', value_name = "PREFIX,..")]
    pub(crate) filter: Vec<String>,
    /// Threads of the CPU's kernels, and workers of the software driver
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: u16,
    /// The name in the output [default: sluice-Nt, where N is the number of threads]
    #[arg(long, value_name = "NAME")]
    peer: Option<String>,
    /// Samples of each case, of which the median counts
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) samples: u16,
    /// The device of tensors: cpu, cuda (the driver that GPU_DRIVER names, or NVIDIA's), or
    /// software:N
    #[arg(long, default_value = "cpu", value_name = "cpu|cuda|software:N")]
    pub(crate) device: Where,
    /// Measure for another process, on a software driver with so many workers
    #[arg(long, hide = true, value_name = "WORKERS")]
    pub(crate) serve: Option<u16>,
}

/// A measurement in place of the cases.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Steps of training on 1 to 64 devices, in the virtual time of a model of an H200
    Scaling(ScalingArguments),
}

impl Arguments {
    /// The name in the output.
    pub(crate) fn peer(&self) -> String {
        self.peer.clone().unwrap_or_else(|| format!("sluice-{}t", self.threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split_whitespace())
    }

    #[test]
    fn without_flags_everything_runs_on_two_threads_of_the_cpu() {
        let args = parse("bench").expect("no flag is needed");
        assert_eq!((args.threads, args.samples, args.device), (2, 7, Where::Cpu));
        assert_eq!((args.filter.len(), args.peer().as_str()), (0, "sluice-2t"));
    }

    #[test]
    fn each_flag_is_read() {
        let line =
            "bench --filter ew/,matmul/f32 --threads 1 --peer ours --samples 3 --device software:2";
        let args = parse(line).expect("all are known");
        assert_eq!(args.filter, ["ew/", "matmul/f32"]);
        assert_eq!((args.threads, args.samples, args.peer().as_str()), (1, 3, "ours"));
        assert_eq!(args.device, Where::Software(Some(2)));
    }

    #[test]
    fn what_is_unknown_or_out_of_range_is_an_error_that_repeats_it() {
        for (line, named) in [
            ("bench --fast", "--fast"),
            ("bench ew/", "ew/"),
            ("bench --threads 0", "--threads"),
            ("bench --threads two", "two"),
            ("bench --samples 0", "--samples"),
            ("bench --samples", "--samples"),
            ("bench --device tpu", "tpu"),
            ("bench --device software:0", "software:0"),
        ] {
            let error = parse(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().contains(named), "{line}: {error}");
        }
    }
}
