//! Where in the program something was made: the call of the driver, and who made it.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// A call of the driver's API.
#[derive(Clone)]
pub struct ApiCall {
    /// The function's exported name.
    pub function: &'static str,
    /// The calls of the process are counted, from 1.
    pub call: u64,
    /// The host thread, by its name, or its number if it has none.
    pub thread: Arc<str>,
    backtrace: Option<Arc<Backtrace>>,
}

thread_local! {
    static CURRENT: Cell<(&'static str, u64)> = const { Cell::new(("the driver", 0)) };
    static THREAD: Arc<str> = match thread::current().name() {
        Some(name) => name.into(),
        None => format!("{:?}", thread::current().id()).into(),
    };
}

/// Takes note of the call that the thread makes.
pub(crate) fn enter(function: &'static str) {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let _ = CURRENT.try_with(|current| {
        current.set((function, CALLS.fetch_add(1, Ordering::Relaxed) + 1));
    });
}

impl ApiCall {
    /// The call that the thread is in.
    pub(crate) fn here() -> ApiCall {
        let (function, call) = CURRENT.try_with(Cell::get).unwrap_or(("the driver", 0));
        let thread = THREAD.try_with(Arc::clone).unwrap_or_else(|_| "".into());
        ApiCall { function, call, thread, backtrace: None }
    }

    /// The call that the thread is in, with the program's functions that led to it.
    pub(crate) fn with_backtrace() -> ApiCall {
        ApiCall { backtrace: Some(Arc::new(Backtrace::force_capture())), ..ApiCall::here() }
    }

    /// The innermost functions of the program that led to the call, as far as they are known.
    pub fn frames(&self) -> Vec<String> {
        let Some(backtrace) = &self.backtrace else { return Vec::new() };
        program_frames(&backtrace.to_string(), self.function)
    }
}

/// The first frames outside the driver, of a backtrace as the standard library writes it: a line
/// `NUMBER: FUNCTION` and, where it is known, a line `at FILE:LINE:COLUMN`, for each. The driver
/// begins with the function that was called.
fn program_frames(text: &str, called: &str) -> Vec<String> {
    const MAX_FRAMES: usize = 3;
    let mut frames: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(place) = line.strip_prefix("at ") {
            if let Some(last) = frames.last_mut() {
                last.push_str(" at ");
                last.push_str(place);
            }
        } else if let Some((_, function)) = line.split_once(": ") {
            frames.push(function.to_owned());
        }
    }
    let is_called = |frame: &String| {
        let function = frame.split(" at ").next().unwrap_or_default();
        function.rsplit("::").next() == Some(called)
    };
    let outside = frames.iter().rposition(is_called).map_or(0, |place| place + 1);
    let of_the_library = |frame: &String| {
        ["std::", "core::", "<std::", "<core::", "__rust"].iter().any(|own| frame.starts_with(own))
            || frame.contains(" at /rustc/")
    };
    frames.drain(..outside);
    frames.into_iter().filter(|frame| !of_the_library(frame)).take(MAX_FRAMES).collect()
}

impl fmt::Display for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ApiCall { function, call, thread, .. } = self;
        write!(f, "{function} (call {call}, thread {thread})")?;
        for frame in self.frames() {
            write!(f, ", from {frame}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for ApiCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.function, self.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_frames_of_the_program_come_after_those_of_the_driver() {
        let text = "   0: std::backtrace::capture\n   1: cuda_sim::check::site\n             at \
                    ./a.rs:1:2\n   2: cuMemAlloc_v2\n   3: core::ops::call_once\n   4: \
                    cuda_sim::cuMemAlloc_v2\n   5: load\n             at ./b.rs:3:4\n   6: \
                    run<u8>\n             at /rustc/5/c.rs:5:6\n   7: app::main\n";
        let expected = ["load at ./b.rs:3:4", "app::main"];
        assert_eq!(program_frames(text, "cuMemAlloc_v2"), expected);
    }

    #[test]
    fn calls_are_counted_over_all_threads() {
        enter("cuMemAlloc_v2");
        let first = ApiCall::here();
        thread::spawn(|| enter("cuMemAlloc_v2")).join().expect("no panic");
        enter("cuMemFree_v2");
        let second = ApiCall::here();
        assert_eq!((first.function, second.function), ("cuMemAlloc_v2", "cuMemFree_v2"));
        assert!(second.call >= first.call + 2);
    }
}
