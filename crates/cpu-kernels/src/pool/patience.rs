//! Waiting for something that is about to happen, for a bounded time.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// The time in which a thread does nothing but look: about as long as the gap between two operations of a
/// training step.
const SPIN: Duration = Duration::from_micros(10);

/// The time after which it stops looking; it lets others have the core from `SPIN` on. To wake a thread
/// takes longer than most work that is split, above all on a virtual machine, whose processor was given
/// back when nobody needed it. So it is only worth while to sleep between one step of a training and
/// the next, when something else is done; OpenMP's threads wait for milliseconds, too.
const YIELD: Duration = Duration::from_millis(1);

/// A yield that takes so long gave the core to another thread: there are more of them than cores,
/// and who only looks is in their way.
const CROWDED: Duration = Duration::from_micros(5);

/// Looks between two readings of the clock.
const LOOKS: usize = 32;

/// Looks for a bounded time whether something has happened. Whether it has.
pub(super) fn wait_for(has_happened: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    let mut now = start;
    while now - start < YIELD {
        for _ in 0..LOOKS {
            if has_happened() {
                return true;
            }
            hint::spin_loop();
        }
        if now - start > SPIN {
            let before = Instant::now();
            thread::yield_now();
            if before.elapsed() > CROWDED {
                break;
            }
        }
        now = Instant::now();
    }
    has_happened()
}
