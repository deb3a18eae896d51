//! How many devices there are, and what they are like.

use std::env;
use std::num::NonZero;
use std::thread;

use ptx_jit::ExecutionMode;

use super::capability::Capability;
use super::fault::InjectedFault;
use super::schedule::Schedule;
use super::size::bytes;
use super::time_model::Time;
use cuda_check::CheckKinds;

/// The simulated machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The number of devices, before `CUDA_VISIBLE_DEVICES`. With none, `cuInit` says
    /// `CUDA_ERROR_NO_DEVICE`.
    pub devices: u32,
    /// Bytes of memory that each has.
    pub memory_per_device: u64,
    /// The number of threads that do the devices' work at once, at least 1: workers, and threads of
    /// the program that wait for what they do. Host functions have threads of their own.
    pub workers: usize,
    /// The checks that are made: none of them costs anything where it is off. See
    /// [`reports`](crate::control::reports).
    pub check: CheckKinds,
    /// Whether a person is told on standard error of what checks find, at once and with a summary
    /// at the end. [`Config::from_env`] says so where `CUDA_SIM_CHECK` asks for the checks: who
    /// asks for them by a value reads [`reports`](crate::control::reports).
    pub print_reports: bool,
    /// The exit status of a process in which checks found something; 0 leaves it as it is.
    pub exit_status: u8,
    /// The compute capability that devices say they have. PTX for a higher one is refused.
    pub capability: Capability,
    /// Whether devices manage virtual memory, as all but the oldest do. Without, they say so, and
    /// `cuMemAddressReserve` and `cuMemCreate` are not supported.
    pub virtual_memory: bool,
    /// The way kernels run where accesses are not checked; where they are, it is one thread at a
    /// time.
    pub execution: ExecutionMode,
    /// The order in which the work of streams runs, unless
    /// [`set_schedule`](crate::control::set_schedule) asks for another.
    pub schedule: Schedule,
    /// The clock that events and waits go by.
    pub time: Time,
    /// The faults that it has from the start, and after each reset.
    pub faults: Vec<InjectedFault>,
}

impl Default for Config {
    /// One device of 8 GiB, a worker for each processor, no checks.
    fn default() -> Config {
        Config {
            devices: 1,
            memory_per_device: 8 << 30,
            workers: thread::available_parallelism().map_or(1, NonZero::get),
            check: CheckKinds::NONE,
            print_reports: false,
            exit_status: 0,
            capability: Capability::default(),
            virtual_memory: true,
            execution: ExecutionMode::Lockstep,
            schedule: Schedule::Fast,
            time: Time::Real,
            faults: Vec::new(),
        }
    }
}

impl Config {
    /// The greatest number of devices, and of threads that a variable can ask for: a slip of the
    /// finger is not to fill the machine.
    pub const MAX_DEVICES: u32 = 1024;

    /// The default, changed by the environment: `CUDA_SIM_DEVICES=4`, `CUDA_SIM_MEMORY=512MiB`
    /// (or KiB, GiB, or a number of bytes), `CUDA_SIM_WORKERS=2`, `CUDA_SIM_CHECK=1` (or a list
    /// such as `memory,init`), `CUDA_SIM_EXIT_STATUS=1`, `CUDA_SIM_CAPABILITY=8.0`, `CUDA_SIM_VIRTUAL_MEMORY=0`
    /// (or 1), `CUDA_SIM_EXECUTION=threads` (or `lockstep`), `CUDA_SIM_SCHEDULE=adversarial:7` (any text of a
    /// [`Schedule`]), `CUDA_SIM_TIME=h200` (or real),
    /// `CUDA_SIM_FAULTS=slow:0-1=8; launch:0@2=LAUNCH_FAILED` (texts of [`InjectedFault`]s, with semicolons
    /// between them).
    ///
    /// # Errors
    /// The first variable whose value means nothing.
    pub fn from_env() -> Result<Config, ConfigError> {
        Config::from_variables(|name| env::var_os(name).map(|value| value.to_string_lossy().into()))
    }

    pub(crate) fn from_variables(
        variable: impl Fn(&'static str) -> Option<String>,
    ) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        let read = Reader { variable };
        let devices = "a number of devices, at most 1024";
        read.set(&mut config.devices, "CUDA_SIM_DEVICES", devices, |value| {
            number(value).filter(|&devices: &u32| devices <= Config::MAX_DEVICES)
        })?;
        let size = "a size such as 512MiB or 8GiB";
        read.set(&mut config.memory_per_device, "CUDA_SIM_MEMORY", size, bytes)?;
        let workers = "a number of threads, from 1 to 1024";
        read.set(&mut config.workers, "CUDA_SIM_WORKERS", workers, |value| {
            number(value).filter(|workers| (1..=Config::MAX_DEVICES as usize).contains(workers))
        })?;
        let checks = "0, 1, or a list such as memory,init,shared,global,streams,leaks";
        read.set(&mut config.check, "CUDA_SIM_CHECK", checks, number)?;
        config.print_reports = !config.check.is_empty();
        let status = "an exit status, from 0 to 255";
        read.set(&mut config.exit_status, "CUDA_SIM_EXIT_STATUS", status, number)?;
        let capability = "a compute capability from 5.0 to 12.1";
        read.set(&mut config.capability, "CUDA_SIM_CAPABILITY", capability, Capability::parse)?;
        let switch = |text: &str| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        read.set(&mut config.virtual_memory, "CUDA_SIM_VIRTUAL_MEMORY", "0 or 1", switch)?;
        let modes = "lockstep or threads";
        read.set(&mut config.execution, "CUDA_SIM_EXECUTION", modes, number)?;
        let schedule = "a schedule: fast, seed:7, adversarial:7, replay:7:0.1.-";
        read.set(&mut config.schedule, "CUDA_SIM_SCHEDULE", schedule, number)?;
        read.set(&mut config.time, "CUDA_SIM_TIME", "real or h200", Time::named)?;
        let faults = "a list of faults such as slow:0-1=8; launch:0@2=LAUNCH_FAILED";
        read.set(&mut config.faults, "CUDA_SIM_FAULTS", faults, InjectedFault::list)?;
        Ok(config)
    }
}

/// An environment variable that means nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable}={value} is not {expected}")]
pub struct ConfigError {
    /// The variable's name.
    pub variable: &'static str,
    /// The value of the variable.
    pub value: String,
    /// The values that would have been understood, in words.
    pub expected: &'static str,
}

struct Reader<F> {
    variable: F,
}

impl<F: Fn(&'static str) -> Option<String>> Reader<F> {
    fn set<T>(
        &self,
        field: &mut T,
        variable: &'static str,
        expected: &'static str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<(), ConfigError> {
        if let Some(value) = (self.variable)(variable) {
            let parsed = parse(value.trim());
            *field = parsed.ok_or(ConfigError { variable, value, expected })?;
        }
        Ok(())
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::super::{Link, TimeModel};
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::from_variables(|name| {
            let found = variables.iter().find(|(variable, _)| *variable == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_variables_it_is_the_default() {
        assert_eq!(read(&[]), Ok(Config::default()));
    }

    #[test]
    fn each_variable_sets_its_field() {
        let config = read(&[
            ("CUDA_SIM_DEVICES", "4"),
            ("CUDA_SIM_MEMORY", "512MiB"),
            ("CUDA_SIM_WORKERS", "3"),
            ("CUDA_SIM_CHECK", "1"),
            ("CUDA_SIM_EXIT_STATUS", "99"),
            ("CUDA_SIM_CAPABILITY", "8.6"),
            ("CUDA_SIM_VIRTUAL_MEMORY", "0"),
            ("CUDA_SIM_EXECUTION", "threads"),
            ("CUDA_SIM_SCHEDULE", "adversarial:7"),
            ("CUDA_SIM_TIME", "h200"),
            ("CUDA_SIM_FAULTS", "memory:1=64MiB; slow:host-0=4"),
        ]);
        let expected = Config {
            devices: 4,
            memory_per_device: 512 << 20,
            workers: 3,
            check: CheckKinds::ALL,
            print_reports: true,
            exit_status: 99,
            capability: Capability { major: 8, minor: 6 },
            virtual_memory: false,
            execution: ExecutionMode::Threads,
            schedule: Schedule::Adversarial(7),
            time: Time::Virtual(TimeModel::H200),
            faults: vec![
                InjectedFault::Memory { device: 1, bytes: 64 << 20 },
                InjectedFault::Slow { link: Link::Host(0), times: 4 },
            ],
        };
        assert_eq!(config, Ok(expected));
    }

    #[test]
    fn a_value_that_means_nothing_is_an_error_that_says_what_would() {
        let error = read(&[("CUDA_SIM_MEMORY", "much")]).expect_err("not a size");
        assert_eq!(error.to_string(), "CUDA_SIM_MEMORY=much is not a size such as 512MiB or 8GiB");
        for (variable, value) in [
            ("CUDA_SIM_DEVICES", "-1"),
            ("CUDA_SIM_DEVICES", "4000000000"),
            ("CUDA_SIM_MEMORY", "99999999TiB"),
            ("CUDA_SIM_MEMORY", "8 Gib"),
            ("CUDA_SIM_WORKERS", "0"),
            ("CUDA_SIM_WORKERS", "1000000000000"),
            ("CUDA_SIM_CHECK", "maybe"),
            ("CUDA_SIM_EXIT_STATUS", "256"),
            ("CUDA_SIM_CAPABILITY", "90"),
            ("CUDA_SIM_CAPABILITY", "3.5"),
            ("CUDA_SIM_VIRTUAL_MEMORY", "no"),
            ("CUDA_SIM_EXECUTION", "warps"),
            ("CUDA_SIM_SCHEDULE", "sometimes"),
            ("CUDA_SIM_TIME", "soon"),
            ("CUDA_SIM_FAULTS", "memory:1"),
        ] {
            assert!(read(&[(variable, value)]).is_err(), "{variable}={value}");
        }
    }
}
