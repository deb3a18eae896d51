//! Training on many devices: `bench scaling`.
//!
//! In the virtual time of a model of H200s, networks are [profiles](profile): parameters of the right
//! sizes, and kernels that do nothing but cost what those of the network would. All else is done as in
//! any program, by the same code, and the driver says what it would have taken. The host's cost of a
//! step is measured in real time.

mod host;
mod layer;
mod library_kernels;
mod machine;
mod ours;
mod picture;
mod profile;
mod pytorch;
mod resnet;
mod steps;
mod transformer;

use std::env;
use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::error::{Error, Result};
use profile::Profile;
use pytorch::Route;

/// The arguments of `bench scaling`.
#[derive(Debug, Args)]
pub(crate) struct ScalingArguments {
    /// The networks
    #[arg(long, value_delimiter = ',', default_value = "transformer,resnet50")]
    profile: Vec<Profile>,
    /// The ways in which a step is made
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "replicas,distributed,data-parallel,data-parallel-star"
    )]
    algorithm: Vec<TrainingScheme>,
    /// The numbers of devices
    #[arg(long, value_delimiter = ',', default_value = "1,2,4,8,16,32,64")]
    devices: Vec<u16>,
    /// By how much tensors, buckets and all bandwidths are smaller than those of the network and of an
    /// H200
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    scale: u16,
    /// Measure the host's cost of a step instead, in real time on software devices
    #[arg(long)]
    host: bool,
    /// Draw the timeline of one step of `Replicas` instead, as SVG: of the first network, on the first
    /// number of devices
    #[arg(long, conflicts_with = "host")]
    picture: bool,
    /// Measure the first of each in this process, and print nanoseconds
    #[arg(long, hide = true)]
    only: bool,
}

/// The way in which a step is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TrainingScheme {
    /// One device, without anything for several
    Plain,
    /// `parallel::Replicas`
    Replicas,
    /// PyTorch's `DistributedDataParallel`
    Distributed,
    /// PyTorch's `DataParallel`, where each device passes on to the next
    DataParallel,
    /// The same, in a star around the first device
    DataParallelStar,
}

/// Measures and prints.
///
/// # Errors
/// A process that measures failed, or the output cannot be written.
pub(crate) fn run(args: &ScalingArguments) -> Result<()> {
    if args.picture {
        return draw(args);
    }
    match (args.host, args.only) {
        (true, false) => host_costs(args),
        (false, false) => steps(args),
        (true, true) => print(&host::step(args.devices[0].into())?),
        (false, true) => {
            let (devices, scale) = (args.devices[0].into(), args.scale.into());
            print(&[args.algorithm[0].step(args.profile[0], devices, scale)?])
        }
    }
}

fn draw(args: &ScalingArguments) -> Result<()> {
    let (profile, devices) = (args.profile[0], args.devices[0].into());
    let trace = ours::trace(profile, devices, args.scale.into())?;
    let title = format!("One step of {} on {devices} devices", profile.name());
    Ok(write!(io::stdout(), "{}", picture::draw(&title, devices, &trace))?)
}

/// The time of a step by network, way and number of devices.
fn steps(args: &ScalingArguments) -> Result<()> {
    let mut output = io::stdout().lock();
    let scale = args.scale;
    writeln!(
        output,
        "virtual time of H200s; tensors, buckets and bandwidths divided by {scale}\n"
    )?;
    writeln!(output, "| network | step by | devices | ms per step | efficiency |")?;
    writeln!(output, "|---|---|---|---|---|")?;
    for &profile in &args.profile {
        for &algorithm in &args.algorithm {
            let time = |algorithm: TrainingScheme, devices| {
                let what = ["--algorithm", algorithm.name(), "--profile", profile.name()];
                Ok::<_, Error>(apart(&what, devices, scale)?[0].as_secs_f64())
            };
            let alone = time(algorithm.alone(), 1)?;
            for &devices in &args.devices {
                let time = time(algorithm, devices)?;
                let (network, way) = (profile.name(), algorithm.name());
                let (milliseconds, efficiency) = (1e3 * time, 100.0 * alone / time);
                writeln!(
                    output,
                    "| {network} | {way} | {devices} | {milliseconds:.2} | {efficiency:.1} % |"
                )?;
            }
        }
    }
    Ok(())
}

/// The host's cost of a step, by number of devices.
fn host_costs(args: &ScalingArguments) -> Result<()> {
    let mut output = io::stdout().lock();
    let parameters = host::PARAMETERS;
    writeln!(output, "a perceptron of {parameters} parameters, in real time\n")?;
    writeln!(
        output,
        "| devices | µs until `step` returns | ns per device and parameter | ns of a thread's processor time per parameter |"
    )?;
    writeln!(output, "|---|---|---|---|")?;
    for &devices in &args.devices {
        let [wall, busy] = apart(&["--host"], devices, args.scale)?[..] else {
            return Err(Error::Apart("two numbers were expected".into()));
        };
        let (wall, busy) = (wall.as_nanos() as f64, busy.as_nanos() as f64);
        writeln!(
            output,
            "| {devices} | {:.0} | {:.0} | {:.0} |",
            wall / 1e3,
            wall / (f64::from(devices) * parameters as f64),
            busy / parameters as f64
        )?;
    }
    Ok(())
}

/// Measures in a process of its own, which has a driver of its own.
fn apart(what: &[&str], devices: u16, scale: u16) -> Result<Vec<Duration>> {
    let mut command = Command::new(env::current_exe()?);
    command.args(["scaling", "--only"]).args(what);
    command.args(["--devices", &devices.to_string(), "--scale", &scale.to_string()]);
    let output = command.stderr(Stdio::inherit()).output()?;
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |word: &str| word.parse().map(Duration::from_nanos).ok();
    let numbers: Option<Vec<Duration>> = answer.split_whitespace().map(number).collect();
    numbers
        .filter(|numbers| output.status.success() && !numbers.is_empty())
        .ok_or_else(|| Error::Apart(format!("{what:?} on {devices} devices gave {answer:?}")))
}

fn print(times: &[Duration]) -> Result<()> {
    let words: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
    Ok(writeln!(io::stdout(), "{}", words.join(" "))?)
}

impl TrainingScheme {
    fn name(self) -> &'static str {
        match self {
            TrainingScheme::Plain => "plain",
            TrainingScheme::Replicas => "replicas",
            TrainingScheme::Distributed => "distributed",
            TrainingScheme::DataParallel => "data-parallel",
            TrainingScheme::DataParallelStar => "data-parallel-star",
        }
    }

    /// The way in which a program for one device makes the step.
    fn alone(self) -> TrainingScheme {
        match self {
            TrainingScheme::Plain | TrainingScheme::Replicas => TrainingScheme::Plain,
            TrainingScheme::Distributed
            | TrainingScheme::DataParallel
            | TrainingScheme::DataParallelStar => TrainingScheme::DataParallel,
        }
    }

    /// The time of a step in this process.
    fn step(self, profile: Profile, devices: usize, scale: usize) -> Result<Duration> {
        match self {
            TrainingScheme::Plain => ours::plain(profile, scale),
            TrainingScheme::Replicas => ours::replicas(profile, devices, scale),
            TrainingScheme::Distributed => pytorch::distributed(profile, devices, scale),
            TrainingScheme::DataParallel => {
                pytorch::data_parallel(profile, devices, scale, Route::Chain)
            }
            TrainingScheme::DataParallelStar => {
                pytorch::data_parallel(profile, devices, scale, Route::Star)
            }
        }
    }
}
