//! The exam: runs a folder of cases that the exporter beside it made from PyTorch's own test
//! databases, and compares the library's answers with PyTorch's. `exporter/README.md` is the
//! protocol.
//!
//! ```text
//! cargo run --release -p golden -- run DIR --device cpu
//! cargo run --release -p golden -- run DIR --device software:1 --json
//! cargo run --release -p golden -- time DIR --ids 3,4 --threads 1
//! cargo run --release -p golden -- operations DIR
//! ```
//!
//! Without `--json`, a table says for each operation how many of its cases passed, the worst first.
//! The status is 0 when all cases pass, 1 otherwise, 2 when the folder cannot be read.
//!
//! # How it is built
//! The parent (`parent`) starts children of 256 cases each, watches them, and adds up (`report`). A
//! child (`child`) sits one case after another (`exam`): the arguments are read (`argument`), the
//! `adapter` calls the library, and `compare` judges what it answers. The adapter is one table: a
//! row has the names of an operation, PyTorch's signature of it, and the call.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "printing is how the program answers")]

// Layers, the top one first; a module imports only from lines below its own.
//
//   operations
//   parent
//   child, timing
//   exam
//   report
//   compare
//   adapter
//   argument
//   arguments, failure, folder
mod adapter;
mod argument;
mod arguments;
mod child;
mod compare;
mod exam;
mod failure;
mod folder;
mod operations;
mod parent;
mod report;
mod timing;

use std::process::ExitCode;

use clap::Parser;

use self::arguments::{Arguments, GoldenCommand};

fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        GoldenCommand::Run(run) if run.from.is_some() => child::run(&run).map(|()| true),
        GoldenCommand::Run(run) => parent::run(&run),
        GoldenCommand::Time(time) => timing::run(&time).map(|()| true),
        GoldenCommand::Operations(facts) => operations::run(&facts).map(|()| true),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
