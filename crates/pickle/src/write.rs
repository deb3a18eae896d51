//! Writes pickles.

use std::collections::HashMap;

use crate::code;

/// The number of items that are appended at a time, as Python does it: readers keep them on a stack.
const BATCH: usize = 1000;

/// The number under which a reader keeps something that is written once and referred to.
#[derive(Debug, Clone, Copy)]
pub struct Memo(u32);

/// A pickle in the making: one value, whose parts are written in their order.
#[derive(Debug)]
pub struct PickleWriter {
    out: Vec<u8>,
    kept: u32,
    texts: HashMap<String, Memo>,
}

impl Default for PickleWriter {
    fn default() -> PickleWriter {
        PickleWriter::new()
    }
}

impl PickleWriter {
    /// An empty one, of protocol 4.
    pub fn new() -> PickleWriter {
        PickleWriter { out: vec![code::PROTO, 4], kept: 0, texts: HashMap::new() }
    }

    /// The bytes of the pickle.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(code::STOP);
        self.out
    }

    /// A truth value.
    pub fn bool(&mut self, value: bool) {
        self.out.push(if value { code::NEWTRUE } else { code::NEWFALSE });
    }

    /// A number.
    pub fn int(&mut self, value: u64) {
        if let Ok(value) = u8::try_from(value) {
            self.out.extend([code::BININT1, value]);
        } else if let Ok(value) = u16::try_from(value) {
            self.out.push(code::BININT2);
            self.out.extend(value.to_le_bytes());
        } else if let Ok(value) = i32::try_from(value) {
            self.out.push(code::BININT);
            self.out.extend(value.to_le_bytes());
        } else {
            // The highest bit is a sign, so the number needs one bit more than it has.
            let bytes = i128::from(value).to_le_bytes();
            let length = (64 - value.leading_zeros() as usize) / 8 + 1;
            self.out.extend([code::LONG1, length as u8]);
            self.out.extend(&bytes[..length]);
        }
    }

    /// A text, of which later ones that are equal are references.
    pub fn text(&mut self, text: &str) {
        if let Some(known) = self.texts.get(text) {
            return self.get(*known);
        }
        match (u8::try_from(text.len()), u32::try_from(text.len())) {
            (Ok(length), _) => self.out.extend([code::SHORT_BINUNICODE, length]),
            (_, Ok(length)) => {
                self.out.push(code::BINUNICODE);
                self.out.extend(length.to_le_bytes());
            }
            _ => {
                self.out.push(code::BINUNICODE8);
                self.out.extend((text.len() as u64).to_le_bytes());
            }
        }
        self.out.extend(text.as_bytes());
        let memo = self.keep();
        self.texts.insert(text.to_owned(), memo);
    }

    /// A pair, as a tuple.
    pub fn pair(&mut self, (first, second): (u64, u64)) {
        self.int(first);
        self.int(second);
        self.out.push(code::TUPLE2);
    }

    /// A list, of which `write` writes each item.
    pub fn list<'t, T>(&mut self, items: &'t [T], mut write: impl FnMut(&mut PickleWriter, &'t T)) {
        self.out.push(code::EMPTY_LIST);
        for batch in items.chunks(BATCH) {
            self.out.push(code::MARK);
            batch.iter().for_each(|item| write(self, item));
            self.out.push(code::APPENDS);
        }
    }

    /// A dictionary with the entries that `write` writes.
    pub fn dict(&mut self, write: impl FnOnce(&mut Entries<'_>)) {
        self.out.extend([code::EMPTY_DICT, code::MARK]);
        write(&mut Entries(self));
        self.out.push(code::SETITEMS);
    }

    /// Lets the reader keep what was written last.
    pub fn keep(&mut self) -> Memo {
        self.out.push(code::MEMOIZE);
        self.kept += 1;
        Memo(self.kept - 1)
    }

    /// Refers to what the reader keeps.
    pub fn get(&mut self, Memo(number): Memo) {
        match u8::try_from(number) {
            Ok(number) => self.out.extend([code::BINGET, number]),
            Err(_) => {
                self.out.push(code::LONG_BINGET);
                self.out.extend(number.to_le_bytes());
            }
        }
    }
}

/// The entries of a dictionary in the making.
#[derive(Debug)]
pub struct Entries<'a>(&'a mut PickleWriter);

impl Entries<'_> {
    /// The writer for the value of a key.
    pub fn of(&mut self, key: &str) -> &mut PickleWriter {
        self.0.text(key);
        self.0
    }
}
