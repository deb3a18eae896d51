//! Lines on standard error, for programs that have no other log of the driver.
//!
//! A Rust program collects the driver's events with `tracing`. A program in another language, which
//! finds the driver as a shared library, has only this.

use std::any::Any;
use std::env;
use std::fmt::Display;
use std::io;
use std::sync::LazyLock;

use parking_lot::Mutex;

/// Writes a line to standard error, in one piece.
pub fn say(line: impl Display) {
    // A program that closed its standard error does not read this.
    let _ = write_all(libc::STDERR_FILENO, format!("cuda-sim: {line}\n").as_bytes());
}

/// Writes a line to standard error if `CUDA_SIM_LOG=1` asks for what is logged.
pub fn notice(line: impl Display) {
    static ALOUD: LazyLock<bool> =
        LazyLock::new(|| env::var_os("CUDA_SIM_LOG").is_some_and(|value| value == "1"));
    if *ALOUD {
        say(line);
    }
}

/// Logs why the driver refuses something.
pub fn refusal(reason: impl Display) {
    tracing::warn!("{reason}");
    notice(reason);
}

/// Says once that the driver has a fault of its own, and what to try.
pub fn internal_error(what: impl Display) {
    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let text = format!(
        "internal error: {what}. This is a fault of the software driver, not of the program: \
         please report it, with these lines and the PTX. What may help meanwhile: \
         CUDA_SIM_EXECUTION=threads, which translates kernels another way, or \
         CUDA_CACHE_DISABLE=1, which reads no native code from disk"
    );
    tracing::error!("{text}");
    let mut said = SAID.lock();
    if !said.contains(&text) {
        said.push(text.clone());
        drop(said);
        say(text);
    }
}

/// The message of a panic.
pub fn reason_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

/// Writes bytes to a file that the process has open, with no lock of any library's.
///
/// # Errors
/// The system's.
pub fn write_all(file: libc::c_int, mut bytes: &[u8]) -> io::Result<()> {
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
