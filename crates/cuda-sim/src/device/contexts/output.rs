//! What kernels print, until the program synchronises and it is written.
//!
//! Kernels run on workers, and on threads that wait. None of them may write to where the program
//! writes: its locks can be held by who waits for the kernel. So what is printed is kept with the
//! context, and whoever synchronises writes it, past all locks of the process (CUDA programming
//! guide, "Formatted output", which says which calls do).

use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use cuda_check::console::write_all;

/// Text that the kernels of a context have printed, until it is written.
#[derive(Debug, Default)]
pub(crate) struct Output {
    kept: Mutex<Unwritten>,
    /// Whether there is any, for calls that have nothing to write.
    has_text: AtomicBool,
    /// Held by who writes, so that what was printed first is written first.
    writing: Mutex<()>,
}

#[derive(Debug, Default)]
struct Unwritten {
    /// The texts of single calls of `printf`, the oldest first.
    pieces: VecDeque<Box<str>>,
    bytes: usize,
    /// Bytes of pieces for which there was no room.
    lost: usize,
}

impl Output {
    /// Takes what a call of `printf` printed. Beyond `most` bytes what is oldest makes way, as in
    /// the buffer of a GPU (`CU_LIMIT_PRINTF_FIFO_SIZE`).
    pub(in crate::device) fn push(&self, text: &str, most: usize) {
        if text.is_empty() {
            return;
        }
        let mut kept = self.kept.lock();
        kept.bytes += text.len();
        kept.pieces.push_back(text.into());
        while kept.bytes > most {
            let Some(oldest) = kept.pieces.pop_front() else { break };
            kept.bytes -= oldest.len();
            kept.lost += oldest.len();
        }
        self.has_text.store(true, Ordering::Release);
    }

    /// Writes what there is to the process's standard output, in one piece.
    pub(crate) fn write(&self) {
        if self.has_text.load(Ordering::Acquire) {
            let _writing = self.writing.lock();
            // A closed output is not the kernel's fault.
            let _ = write_all(libc::STDOUT_FILENO, self.take().as_bytes());
        }
    }

    fn take(&self) -> String {
        let mut kept = self.kept.lock();
        self.has_text.store(false, Ordering::Release);
        let Unwritten { pieces, lost, .. } = mem::take(&mut *kept);
        drop(kept);
        if lost > 0 {
            tracing::warn!(
                bytes = lost,
                "what kernels printed first is lost: raise CU_LIMIT_PRINTF_FIFO_SIZE, or \
                 synchronise more often"
            );
        }
        pieces.into_iter().map(String::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_oldest_makes_way_where_there_is_no_room() {
        let output = Output::default();
        for text in ["one,", "", "two,", "three."] {
            output.push(text, 10);
        }
        assert_eq!(output.take(), "two,three.");
        assert_eq!(output.take(), "");
        output.push("far too long for that", 10);
        assert_eq!(output.take(), "");
    }
}
