//! The sleep of one thread.

use super::sync::{AtomicBool, Condvar, Mutex, Ordering, fence};

/// Whether a thread sleeps, so that it costs a load to find out that it need not be woken.
pub(crate) struct Sleeper {
    is_asleep: AtomicBool,
    lock: Mutex<()>,
    woken: Condvar,
}

impl Sleeper {
    /// A thread that is awake.
    pub(crate) fn new() -> Sleeper {
        Sleeper { is_asleep: AtomicBool::new(false), lock: Mutex::new(()), woken: Condvar::new() }
    }

    /// Sleeps until somebody wakes the thread, or not at all if there is something to do. Who brings
    /// something makes a sequentially consistent fence between that and [`Sleeper::wake`].
    pub(crate) fn sleep(&self, has_something_to_do: impl Fn() -> bool) {
        self.is_asleep.store(true, Ordering::Relaxed);
        // Either this thread sees what is to be done, or who brings it sees that it sleeps.
        fence(Ordering::SeqCst);
        if has_something_to_do() {
            self.is_asleep.store(false, Ordering::Relaxed);
            return;
        }
        let mut lock = self.lock.lock();
        while self.is_asleep.load(Ordering::Relaxed) {
            self.woken.wait(&mut lock);
        }
    }

    /// Wakes the thread if it sleeps.
    pub(crate) fn wake(&self) {
        if self.is_asleep.load(Ordering::Relaxed) {
            let lock = self.lock.lock();
            self.is_asleep.store(false, Ordering::Relaxed);
            drop(lock);
            self.woken.notify_one();
        }
    }
}
