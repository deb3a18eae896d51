//! `cargo xtask doctor`: what there is on this machine, what would run where, and what to do about
//! what is missing.

mod diagnosis;
mod drivers;
mod report;
mod tools;

use anyhow::Result;

use self::diagnosis::Diagnosis;
use self::drivers::Drivers;
use crate::{build_kernels, paths};

/// Prints all sections. That something is missing is no failure: nothing but Rust is needed.
///
/// The sections that need no build come first: where the environment asks for the software driver, a
/// program with that in it is asked, which from nothing takes minutes to build.
pub(crate) fn run() -> Result<()> {
    print("Kernels", &[kernels()?]);
    print("Tools, for work on Sluice only", &tools::entries());
    let drivers = Drivers::find()?;
    print("Drivers", &drivers.entries());
    print("What runs where", &drivers.uses());
    Ok(())
}

/// Prints the report on the driver that `GPU_DRIVER` asks for, which the doctor runs in a process of
/// its own, since a process has one driver.
pub(crate) fn report_on_driver() -> Result<()> {
    print!("{}", report::report()?);
    Ok(())
}

fn print(title: &str, entries: &[Diagnosis]) {
    println!("{title}");
    for entry in entries {
        print!("{entry}");
    }
    println!();
}

fn kernels() -> Result<Diagnosis> {
    let stale = build_kernels::stale()?;
    if stale.is_empty() {
        return Ok(Diagnosis::new("kernels/ptx", "made from the sources that are here"));
    }
    let files: Vec<_> = stale.iter().map(|path| paths::relative(path).to_string()).collect();
    let state = format!("made from other sources: {}", files.join(", "));
    Ok(Diagnosis::new("kernels/ptx", state).advice("run `cargo xtask build-kernels`"))
}
