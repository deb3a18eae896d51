//! `cargo xtask doctor`: what there is on this machine, what would run where, and what to do about
//! what is missing.

mod drivers;
mod entry;
mod tools;

use anyhow::Result;

use self::drivers::Drivers;
use self::entry::Entry;
use crate::{build_kernels, paths};

/// Prints all sections. That something is missing is no failure: nothing but Rust is needed.
pub(crate) fn run() -> Result<()> {
    let drivers = Drivers::find()?;
    print("Drivers", &drivers.entries());
    print("Kernels", &[kernels()?]);
    print("Tools, for work on Sluice only", &tools::entries());
    print("What runs where", &drivers.uses());
    Ok(())
}

fn print(title: &str, entries: &[Entry]) {
    println!("{title}");
    for entry in entries {
        print!("{entry}");
    }
    println!();
}

fn kernels() -> Result<Entry> {
    let stale = build_kernels::stale()?;
    if stale.is_empty() {
        return Ok(Entry::new("kernels/ptx", "made from the sources that are here"));
    }
    let files: Vec<_> = stale.iter().map(|path| paths::relative(path).to_string()).collect();
    let state = format!("made from other sources: {}", files.join(", "));
    Ok(Entry::new("kernels/ptx", state).advice("run `cargo xtask build-kernels`"))
}
