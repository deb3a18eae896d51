//! Tests that run again in a process of their own, which the system limits.

use std::process::{Command, ExitStatus};

/// It says what the process is to work on, and that it is one.
const FILE: &str = "SERIALIZATION_TEST_FILE";

/// The file that this process is to work on, if it is one that was started by [`run`].
pub(crate) fn file() -> Option<std::path::PathBuf> {
    std::env::var_os(FILE).map(Into::into)
}

/// Runs a test of this program again, after some commands of the shell, to work on a file.
pub(crate) fn run(test: &str, limits: &str, file: &std::path::Path) -> (ExitStatus, String) {
    let program = std::env::current_exe().expect("this program");
    let script = format!("ulimit -c 0; {limits}; exec \"$0\" --exact {test} --test-threads 1");
    let output = Command::new("sh")
        .args(["-c", &script])
        .arg(program)
        .env(FILE, file)
        .output()
        .expect("a shell");
    let text = [output.stdout, output.stderr].concat();
    (output.status, String::from_utf8_lossy(&text).into_owned())
}
