//! The drivers: which can be used, with what devices, and which one a program gets.

use std::env;

use anyhow::Result;

use super::diagnosis::Diagnosis;
use crate::process;

/// The devices that each driver has.
pub(super) struct Drivers {
    nvidia: Probe,
    software: Probe,
    /// `GPU_DRIVER` as it is set here, and what there is by it.
    asked: Option<(String, Probe)>,
}

/// The report on a driver, or why it cannot be used.
type Probe = Result<String, String>;

impl Drivers {
    pub(super) fn find() -> Result<Drivers> {
        // By itself, so that an error of the compiler is not taken for one of a driver.
        process::run(&mut process::cargo(&[&["build", "--quiet"], &EXAMPLE[..]].concat()))?;
        let asked = variable("GPU_DRIVER").map(|driver| {
            let probe = probe(&driver)?;
            Ok::<_, anyhow::Error>((driver, probe))
        });
        Ok(Drivers {
            nvidia: probe("nvidia")?,
            software: probe("software")?,
            asked: asked.transpose()?,
        })
    }

    pub(super) fn entries(&self) -> Vec<Diagnosis> {
        let mut entries = vec![
            entry("nvidia", &self.nvidia, NVIDIA_IS_MISSING),
            entry("software", &self.software, "mend the variable that it names")
                .advice("CUDA_SIM_DEVICES and CUDA_SIM_MEMORY, or GPU_DRIVER=software:N, set this"),
        ];
        entries.push(match &self.asked {
            None => Diagnosis::new("GPU_DRIVER", "not set: a program gets NVIDIA's driver"),
            Some((driver, _)) => Diagnosis::new("GPU_DRIVER", driver),
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
            let advice = "set GPU_DRIVER=software:4 for it, or let it call choose_driver";
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

const EXAMPLE: [&str; 4] = ["--package", "gpu-runtime", "--example", "doctor"];

/// Asks an example of gpu-runtime, in a process of its own: a process has one driver. Linking the
/// runtime into xtask instead would make every command of xtask wait for Cranelift to be built.
fn probe(driver: &str) -> Result<Probe> {
    let mut example = process::cargo(&[&["run", "--quiet"], &EXAMPLE[..]].concat());
    let output = example.env("GPU_DRIVER", driver).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    Ok(if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) })
}
