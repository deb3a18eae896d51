//! The drivers: which can be used, with what devices, and which one a program gets.

use std::env;

use anyhow::Result;
use gpu_runtime::DriverChoice;

use super::diagnosis::Diagnosis;
use super::report::report;
use crate::process;

/// The devices that each driver has.
pub(super) struct Drivers {
    nvidia: Probe,
    /// Asked where the environment sets the software driver up.
    software: Option<Probe>,
    /// `GPU_DRIVER` as it is set here, and what there is by it.
    asked: Option<(String, Probe)>,
}

/// The report on a driver, or why it cannot be used.
type Probe = Result<String, String>;

impl Drivers {
    pub(super) fn find() -> Result<Drivers> {
        let asked = match variable("GPU_DRIVER") {
            Some(driver) if driver == "nvidia" => Some((driver, nvidia())),
            Some(driver) => Some((driver.clone(), probe(&driver)?)),
            None => None,
        };
        // Whichever of its variables it is.
        let is_set_up = env::vars().any(|(name, _)| name.starts_with(concat!("CUDA", "_SIM_")));
        let software = is_set_up.then(|| probe("software")).transpose()?;
        Ok(Drivers { nvidia: nvidia(), software, asked })
    }

    pub(super) fn entries(&self) -> Vec<Diagnosis> {
        let mut entries = vec![
            entry("nvidia", &self.nvidia, NVIDIA_IS_MISSING),
            match &self.software {
                Some(probe) => entry("software", probe, "mend the variable that it names"),
                None => Diagnosis::new(
                    "software",
                    "a part of every program, with as many GPUs as it asks for",
                ),
            }
            .advice("CUDA_SIM_DEVICES and CUDA_SIM_MEMORY, or GPU_DRIVER=software:N, set this"),
        ];
        entries.push(match &self.asked {
            None => Diagnosis::new("GPU_DRIVER", "not set: a program gets NVIDIA's driver"),
            Some((driver, Ok(report) | Err(report))) => {
                Diagnosis::new("GPU_DRIVER", format!("{driver}\n{report}"))
            }
        });
        entries.extend(variable("CUDA_VISIBLE_DEVICES").map(|visible| {
            let state = format!("{visible}: no others are seen above");
            Diagnosis::new("CUDA_VISIBLE_DEVICES", state).advice("unset it to see all devices")
        }));
        entries
    }

    /// The driver that the README's commands run on, and that of a program that asks for none.
    pub(super) fn uses(&self) -> Vec<Diagnosis> {
        let (driver, probe) = match &self.asked {
            Some((driver, probe)) => (driver.as_str(), probe),
            None => ("nvidia", &self.nvidia),
        };
        let devices = format!("the devices of the driver {driver}");
        let mine = "a program of yours";
        let (digits, program) = if probe.is_ok() {
            (devices.as_str(), Diagnosis::new(mine, &devices))
        } else {
            let state = format!("the CPU: the driver {driver} cannot be used");
            let advice = "set GPU_DRIVER=software:4 for it, or let it call cuda::software(4)";
            ("four software GPUs, and it says why", Diagnosis::new(mine, state).advice(advice))
        };
        vec![
            Diagnosis::new("cargo run --example digits", digits),
            Diagnosis::new("cargo test --workspace", "the CPU and software GPUs"),
            program,
        ]
    }
}

const NVIDIA_IS_MISSING: &str = "install NVIDIA's driver, of CUDA 12.0 or later, or use the \
                                 software driver: the results are the same";

fn entry(name: &str, probe: &Probe, if_missing: &str) -> Diagnosis {
    match probe {
        Ok(report) => Diagnosis::new(name, report),
        Err(reason) => Diagnosis::new(name, reason).advice(if_missing),
    }
}

/// A variable of the environment; an empty one counts as not set.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

/// NVIDIA's driver, which this process asks itself.
fn nvidia() -> Probe {
    let chosen = gpu_runtime::choose_driver(DriverChoice::Nvidia);
    chosen.map_err(anyhow::Error::from).and_then(|()| report()).map_err(|error| error.to_string())
}

/// Asks a driver by a process of its own, with the software driver in it: a process has one driver,
/// and every command of xtask would wait for Cranelift to be built if it were a part of this one.
fn probe(driver: &str) -> Result<Probe> {
    const XTASK: [&str; 5] = ["--quiet", "--package", "xtask", "--features", "software"];
    eprintln!("Asking the driver {driver}, with a program that is built first");
    // By itself, so that an error of the compiler is not taken for one of the driver.
    process::run(&mut process::cargo(&[&["build"], &XTASK[..]].concat()))?;
    let mut program = process::cargo(&[&["run"], &XTASK[..], &["--", "driver"]].concat());
    let output = program.env("GPU_DRIVER", driver).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}
