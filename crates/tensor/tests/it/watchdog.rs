//! Tests that would hang where they fail.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{panic, thread};

/// Far above what any of these tests takes on a machine that is busy with others.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs `body` in a thread and panics if it does not end. Its threads may be left behind, so it is for
/// processes of their own: `isolate(|| ends(|| ..)).run()`.
#[track_caller]
pub(crate) fn ends(body: impl FnOnce() + Send + 'static) {
    let (done, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        body();
        let _nobody_waits_any_more = done.send(());
    });
    match ended.recv_timeout(LIMIT) {
        Err(RecvTimeoutError::Timeout) => panic!("somebody waits for ever"),
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
    }
    if let Err(panicked) = thread.join() {
        panic::resume_unwind(panicked);
    }
}
