//! What kernels print, until the program synchronises and it is written.
//!
//! Kernels run on workers, and on threads that wait. None of them may write to where the program
//! writes: its locks can be held by who waits for the kernel. So what is printed is kept with the
//! context, and whoever synchronises writes it, past all locks of the process (CUDA programming
//! guide, "Formatted output", which says which calls do).

use std::collections::VecDeque;
use std::io;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

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

/// Writes bytes to a file that the process has open, with no lock of any library's.
///
/// # Errors
/// The system's.
pub(in crate::device) fn write_all(file: libc::c_int, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        // SAFETY: the bytes are there to be read.
        let written = unsafe { libc::write(file, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(_) => await_room(file, io::Error::last_os_error())?,
        }
    }
    Ok(())
}

/// After a write that wrote nothing: waits until one can, if it ever can.
fn await_room(file: libc::c_int, error: io::Error) -> io::Result<()> {
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        io::ErrorKind::WouldBlock => {
            let mut wanted = libc::pollfd { fd: file, events: libc::POLLOUT, revents: 0 };
            // SAFETY: there is one element to be read and written.
            unsafe { libc::poll(&mut wanted, 1, -1) };
            Ok(())
        }
        _ => Err(error),
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

    #[test]
    fn all_is_written_also_where_it_takes_several_writes() {
        let mut ends = [0; 2];
        // SAFETY: there is room for two.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK) }, 0);
        let [from, to] = ends;
        let sent = vec![7_u8; 1 << 20];
        let writer = std::thread::spawn(move || write_all(to, &sent));
        let (mut seen, mut part) = (0, [0_u8; 4096]);
        while seen < 1 << 20 {
            // SAFETY: the part can be written.
            let read = unsafe { libc::read(from, part.as_mut_ptr().cast(), part.len()) };
            seen += usize::try_from(read).unwrap_or(0);
            std::thread::yield_now();
        }
        writer.join().expect("no panic").expect("the pipe is open");
        assert_eq!(seen, 1 << 20);
    }
}
