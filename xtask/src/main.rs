//! `cargo xtask`: the automation of this repository.
#![forbid(unsafe_code)]

mod bindgen;
mod paths;
mod process;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The automation of this repository.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the types and the list of functions of cuda-sys anew from cuda.h.
    Bindgen(bindgen::Arguments),
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Bindgen(arguments) => bindgen::run(&arguments),
    }
}
