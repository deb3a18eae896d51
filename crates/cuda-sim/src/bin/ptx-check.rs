//! `ptx-check FILES`: lists what in PTX files and fat binaries the software driver does not
//! support.
//!
//! Ends in 0 if that is nothing, in 1 if there is something, in 2 if a file could not be read.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is how a command answers")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use cuda_sim::ptx_check::{self, TextReport};

const USAGE: &str = "usage: ptx-check FILE...

Lists what in each FILE, PTX text or a fat binary, the software CUDA driver does not
support: one line for each place, with line, column, reason and text.

Ends in 0 if there is nothing to list, in 1 if there is, in 2 if a file cannot be read.";

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let asks_for_help =
        |argument: &PathBuf| [Path::new("-h"), Path::new("--help")].contains(&argument.as_path());
    if arguments.iter().any(asks_for_help) {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if arguments.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    }
    let mut total = Total::default();
    for path in &arguments {
        match read(path) {
            Ok(reports) => total.add(path, &reports),
            Err(reason) => {
                eprintln!("{}: {reason}", path.display());
                total.unreadable += 1;
            }
        }
    }
    total.conclude()
}

fn read(path: &Path) -> Result<Vec<TextReport>, String> {
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    ptx_check::check(&bytes).map_err(|error| error.to_string())
}

#[derive(Default)]
struct Total {
    files: usize,
    kernels: usize,
    problems: usize,
    unreadable: usize,
}

impl Total {
    fn add(&mut self, path: &Path, reports: &[TextReport]) {
        self.files += 1;
        for report in reports {
            self.kernels += report.kernels;
            self.problems += report.problems.len();
            let part = report.architecture.map_or(String::new(), |sm| format!("(compute_{sm})"));
            for problem in &report.problems {
                let (line, column) = (problem.line, problem.column);
                let place = format!("{}{part}:{line}:{column}", path.display());
                println!("{place}: {}: `{}`", problem.reason, problem.text);
            }
        }
    }

    fn conclude(self) -> ExitCode {
        let Total { files, kernels, problems, unreadable } = self;
        let checked = format!("{} in {}", count(kernels, "kernel"), count(files, "file"));
        match (problems, unreadable) {
            (0, 0) => println!("{checked}: all supported"),
            (0, _) => println!("{checked}: all supported; {} not read", count(unreadable, "file")),
            _ => println!("{checked}: {}", count(problems, "problem")),
        }
        match (problems, unreadable) {
            (_, 1..) => ExitCode::from(2),
            (1.., _) => ExitCode::from(1),
            _ => ExitCode::SUCCESS,
        }
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
