//! A writer that keeps its first error to itself.

use std::io::{Error, ErrorKind, Result, Seek, SeekFrom, Write};

/// A writer for `zip`, whose archives try to complete themselves when they are dropped, and print it
/// if they cannot. After an error everything seems to go on, and nothing is written.
pub(super) struct FirstError<W> {
    out: W,
    position: u64,
    end: u64,
    error: Option<Error>,
}

impl<W: Write + Seek> FirstError<W> {
    /// A writer of `out`, which has nothing in it.
    pub(super) fn new(out: W) -> FirstError<W> {
        FirstError { out, position: 0, end: 0, error: None }
    }

    /// The error, if there was one.
    pub(super) fn into_result(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn attempt(&mut self, action: impl FnOnce(&mut W) -> Result<()>) {
        if self.error.is_none() {
            self.error = action(&mut self.out).err();
        }
    }
}

impl<W: Write + Seek> Write for FirstError<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.attempt(|out| out.write_all(bytes));
        self.position += bytes.len() as u64;
        self.end = self.end.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.attempt(Write::flush);
        Ok(())
    }
}

impl<W: Write + Seek> Seek for FirstError<W> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(by) => self.position.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        let position = position.ok_or_else(|| Error::from(ErrorKind::InvalidInput))?;
        // Where it is already a buffer need not be written for it.
        if position != self.position {
            self.attempt(|out| out.seek(SeekFrom::Start(position)).map(drop));
            self.position = position;
        }
        Ok(position)
    }
}
