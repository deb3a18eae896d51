//! Running one test in a process of its own.

use std::any::type_name;
use std::ffi::OsStr;
use std::process::{Command, Output};

use crate::driver::{self, DRIVER};
use crate::skip;

/// Set, to the test's name, in the child process.
const CHILD: &str = "SLUICE_ISOLATED_TEST";

/// Prepares a test that touches process-wide state: the environment, the choice of the driver,
/// injected faults, exact statistics.
///
/// The test binary is executed again for the calling test alone, and `body` runs there.
///
/// ```no_run
/// #[test]
/// fn a_hidden_device_is_not_counted() {
///     test_support::isolate(|| assert_eq!(std::env::var("CUDA_VISIBLE_DEVICES").unwrap(), "1"))
///         .env("CUDA_VISIBLE_DEVICES", "1")
///         .run();
/// }
/// ```
pub fn isolate<F>(body: F) -> Isolated<F> {
    Isolated { body, child: ChildTest::new(test_name::<F>()) }
}

/// A test that is about to run in a process of its own; see [`isolate`].
#[must_use = "nothing runs before `run`"]
pub struct Isolated<F> {
    body: F,
    child: ChildTest,
}

impl<F> Isolated<F> {
    /// Sets an environment variable of the child process.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.child.command.env(name, value);
        self
    }

    /// Removes an environment variable from the child process.
    pub fn env_remove(mut self, name: &str) -> Self {
        self.child.command.env_remove(name);
        self
    }

    /// Says that the body steers the software driver: it sets schedules, has calls fail, reads
    /// counters, or calls that driver past the runtime. On another driver the test is skipped.
    pub fn steers_software_driver(mut self) -> Self {
        self.child.steers = true;
        self
    }

    /// Runs the body in the child process and panics, with the child's output, if it failed there.
    ///
    /// Where `GPU_DRIVER` asks for another driver, a test that can only be about the software driver
    /// is skipped: one that steers it, or that names it for its child process.
    pub fn run(self)
    where
        F: FnOnce(),
    {
        self.run_by(|body| body());
    }

    /// [`Isolated::run`] for a body that something else calls, such as a model checker.
    pub fn run_by(self, call: impl FnOnce(F)) {
        match is_child() {
            true => call(self.body),
            false => self.child.run(),
        }
    }
}

/// The child process of a test. It is apart from the body, so that it is compiled once and not for
/// each test.
struct ChildTest {
    /// The test's name.
    name: &'static str,
    command: Command,
    /// Whether the body steers the software driver.
    steers: bool,
}

impl ChildTest {
    fn new(name: &'static str) -> ChildTest {
        let binary = std::env::current_exe().expect("a test knows its own binary");
        let mut command = Command::new(binary);
        command.args([name, "--exact", "--nocapture", "--test-threads=1"]);
        command.env(CHILD, name);
        ChildTest { name, command, steers: false }
    }

    fn run(mut self) {
        if let Some(reason) = self.refuses(std::env::var_os(DRIVER).as_deref()) {
            return skip::skipped(self.name, reason);
        }
        let output = self.command.output().expect("the test binary can be executed again");
        assert!(output.status.success(), "the isolated test failed:\n{}", transcript(&output));
        // A name that matches no test also ends in success: it would pass without having run.
        let ran = String::from_utf8_lossy(&output.stdout).contains("test result: ok. 1 passed");
        assert!(ran, "the isolated test did not run:\n{}", transcript(&output));
        skip::hand_on(&String::from_utf8_lossy(&output.stderr));
    }

    /// Why the test does not run where `GPU_DRIVER` asks for this driver.
    fn refuses(&self, driver: Option<&OsStr>) -> Option<&'static str> {
        if driver::is_software(driver) {
            return None;
        }
        let asks = |(name, value): (&OsStr, Option<&OsStr>)| {
            name == DRIVER && value.is_some() && driver::is_software(value)
        };
        if self.steers {
            return Some(driver::STEERED);
        }
        self.command.get_envs().any(asks).then_some("it asks for the software driver")
    }
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The test's path as the test harness knows it, from the path of the closure within it.
fn test_name<F>() -> &'static str {
    let closure = type_name::<F>();
    let function = closure.split("::{{closure}}").next().unwrap_or(closure);
    function.split_once("::").map_or(function, |(_crate, path)| path)
}

fn transcript(output: &Output) -> String {
    format!(
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::isolate;

    #[test]
    fn the_body_runs_in_another_process_with_its_environment() {
        let parent = std::process::id().to_string();
        isolate(|| {
            assert_eq!(std::env::var("ISOLATED_VALUE").as_deref(), Ok("7"));
            let parent = std::env::var("ISOLATED_PARENT").expect("set below");
            assert_ne!(parent, std::process::id().to_string());
        })
        .env("ISOLATED_VALUE", "7")
        .env("ISOLATED_PARENT", &parent)
        .run();
    }

    #[test]
    fn what_is_about_the_software_driver_runs_on_no_other() {
        let on = |driver: Option<&str>| {
            let body: fn() = || ();
            let tests = [
                isolate(body).steers_software_driver(),
                isolate(body).env("GPU_DRIVER", "software:4"),
                isolate(body),
                isolate(body).env("GPU_DRIVER", "nvidia"),
            ];
            tests.map(|test| test.child.refuses(driver.map(OsStr::new)).is_some())
        };
        assert_eq!(on(Some("nvidia")), [true, true, false, false]);
        assert_eq!(on(Some("software:2")), [false; 4]);
        assert_eq!(on(None), [false; 4]);
    }

    #[test]
    #[should_panic(expected = "the isolated test failed")]
    fn a_failure_in_the_child_is_a_failure_here() {
        if super::is_child() {
            // The child must fail without panicking, or `should_panic` would count it as passed.
            std::process::exit(3);
        }
        isolate(|| ()).run();
    }
}
