//! Reads pickles.

use std::collections::HashMap;
use std::sync::Arc;

use crate::code;
use crate::error::{Error, Result};
use crate::value::{Allowed, GlobalName, Pickle, PickleItem, PicklePart};

/// It is called with nothing, or with its entries, and gives a dictionary.
const ORDERED_DICT: GlobalName = GlobalName { module: "collections", name: "OrderedDict" };

/// Why an instruction cannot be followed.
enum PickleProblem {
    Malformed(&'static str),
    Global { module: String, name: String },
}

impl From<&'static str> for PickleProblem {
    fn from(problem: &'static str) -> PickleProblem {
        PickleProblem::Malformed(problem)
    }
}

type ReadResult<T> = std::result::Result<T, PickleProblem>;

impl Pickle {
    /// Reads a pickle.
    ///
    /// # Errors
    /// The place where it ends in error, and what is wrong there; or the name of what it asks for
    /// and is not allowed.
    pub fn read(bytes: &[u8], allowed: Allowed<'_>) -> Result<Pickle> {
        let (parts, root) = PickleReader::new(bytes, allowed).run()?;
        Ok(Pickle { parts, root })
    }
}

/// Follows the instructions.
struct PickleReader<'a> {
    bytes: &'a [u8],
    rest: &'a [u8],
    allowed: Allowed<'a>,
    parts: Vec<PicklePart>,
    stack: Vec<PickleItem>,
    /// The length of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, PickleItem>,
    /// The number of entries that may still be copied from lists into dictionaries.
    copies_left: usize,
}

impl<'a> PickleReader<'a> {
    fn new(bytes: &'a [u8], allowed: Allowed<'a>) -> PickleReader<'a> {
        PickleReader {
            bytes,
            rest: bytes,
            allowed,
            parts: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            copies_left: bytes.len(),
        }
    }

    /// The parts of the pickle, and its value.
    fn run(mut self) -> Result<(Vec<PicklePart>, PickleItem)> {
        match self.follow() {
            Ok(root) => Ok((self.parts, root)),
            Err(problem) => {
                let at = self.bytes.len() - self.rest.len();
                Err(match problem {
                    PickleProblem::Malformed(problem) => Error::Malformed { at, problem },
                    PickleProblem::Global { module, name } => Error::Global { at, module, name },
                })
            }
        }
    }

    fn follow(&mut self) -> ReadResult<PickleItem> {
        if self.take(1)? != [code::PROTO] {
            return Err("it is not a pickle of protocol 2 to 5".into());
        }
        if !(2..=5).contains(&self.u8()?) {
            return Err("the protocol is not one of 2 to 5".into());
        }
        loop {
            match self.u8()? {
                code::STOP => return self.pop(),
                code::MARK => self.marks.push(self.stack.len()),
                instruction => self.execute(instruction)?,
            }
        }
    }

    fn execute(&mut self, instruction: u8) -> ReadResult<()> {
        match instruction {
            code::FRAME => drop(self.take(8)?),
            code::PROTO => drop(self.u8()?),
            code::POP => drop(self.pop()?),
            code::POP_MARK => drop(self.since_mark()?),
            code::NONE => self.stack.push(PickleItem::None),
            code::NEWTRUE => self.stack.push(PickleItem::Int(1)),
            code::NEWFALSE => self.stack.push(PickleItem::Int(0)),
            code::BININT1 | code::BININT2 | code::BININT | code::LONG1 | code::LONG4 => {
                let number = self.number(instruction)?;
                self.stack.push(number);
            }
            code::BINFLOAT => {
                let number = f64::from_be_bytes(self.array()?);
                self.stack.push(PickleItem::Float(number));
            }
            code::SHORT_BINUNICODE | code::BINUNICODE | code::BINUNICODE8 => {
                let text = self.text(instruction)?;
                self.push(PicklePart::Text(text));
            }
            code::EMPTY_LIST | code::EMPTY_TUPLE => self.push(PicklePart::List(Vec::new())),
            code::EMPTY_DICT => self.push(PicklePart::Dict(Vec::new())),
            code::LIST | code::TUPLE => {
                let items = self.since_mark()?;
                self.push(PicklePart::List(items));
            }
            code::TUPLE1 | code::TUPLE2 | code::TUPLE3 => {
                let first = self.last(usize::from(instruction - code::TUPLE1) + 1)?;
                let items = self.stack.split_off(first);
                self.push(PicklePart::List(items));
            }
            code::DICT => {
                let items = self.since_mark()?;
                self.push(PicklePart::Dict(pairs(&items)?));
            }
            code::APPEND | code::APPENDS => self.append(instruction)?,
            code::SETITEM | code::SETITEMS => self.set_items(instruction)?,
            code::MEMOIZE | code::BINPUT | code::LONG_BINPUT => self.put(instruction)?,
            code::BINGET | code::LONG_BINGET => {
                let number =
                    if instruction == code::BINGET { self.u8()?.into() } else { self.u32()? };
                let item = self.memo.get(&number).ok_or("it refers to what it has not kept")?;
                self.stack.push(*item);
            }
            other => self.execute_object(other)?,
        }
        Ok(())
    }

    /// Follows an instruction that names something, or makes an object of it.
    fn execute_object(&mut self, instruction: u8) -> ReadResult<()> {
        match instruction {
            code::GLOBAL => {
                let (module, name) = (self.line()?, self.line()?);
                let global = self.global(module, name)?;
                self.stack.push(PickleItem::Global(global));
            }
            code::STACK_GLOBAL => {
                let first = self.last(2)?;
                let (module, name) = (self.text_at(first)?, self.text_at(first + 1)?);
                let global = self.global(&module, &name)?;
                self.stack.truncate(first);
                self.stack.push(PickleItem::Global(global));
            }
            code::REDUCE => self.call()?,
            code::BUILD => {
                // What would be the attributes of the object, which is below.
                self.pop()?;
                match self.top()? {
                    PicklePart::Dict(_) | PicklePart::Call { .. } => {}
                    _ => return Err("it gives attributes to what is no object".into()),
                }
            }
            code::BINPERSID if self.allowed.persistent_ids => {
                let id = self.pop()?;
                self.push(PicklePart::PersistentId(id));
            }
            code::BINPERSID => return Err("it refers to what lies outside of it".into()),
            code::NEWOBJ | code::NEWOBJ_EX | code::INST | code::OBJ => return Err(CLASSES.into()),
            code::EXT1 | code::EXT2 | code::EXT4 => return Err(CLASSES.into()),
            _ => return Err("it has an instruction that is not known here".into()),
        }
        Ok(())
    }

    /// A name that the pickle may have.
    fn global(&self, module: &str, name: &str) -> ReadResult<GlobalName> {
        let mut known = self.allowed.globals.iter().chain([&ORDERED_DICT]);
        let found = known.find(|known| known.module == module && known.name == name);
        found.copied().ok_or_else(|| PickleProblem::Global {
            module: module.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Notes a call of a function with a tuple of arguments, which both are on the stack.
    fn call(&mut self) -> ReadResult<()> {
        let first = self.last(2)?;
        let (function, arguments) = (self.stack[first], self.stack[first + 1]);
        self.stack.truncate(first);
        let PickleItem::Global(function) = function else {
            return Err("it calls what is no function".into());
        };
        let part = match function == ORDERED_DICT {
            true => PicklePart::Dict(self.entries(arguments)?),
            false => PicklePart::Call { function, arguments },
        };
        self.push(part);
        Ok(())
    }

    /// The entries that `OrderedDict` is called with: none, or a list of pairs.
    fn entries(&mut self, arguments: PickleItem) -> ReadResult<Vec<(PickleItem, PickleItem)>> {
        const PROBLEM: &str = "it makes an OrderedDict of what is no list of pairs";
        let entries = match self.list(arguments).ok_or(PROBLEM)? {
            [] => return Ok(Vec::new()),
            [entries] => self.list(*entries).ok_or(PROBLEM)?,
            _ => return Err(PROBLEM.into()),
        };
        let pair = |entry: &PickleItem| match self.list(*entry) {
            Some([key, value]) => Ok((*key, *value)),
            _ => Err(PROBLEM.into()),
        };
        let entries = entries.iter().map(pair).collect::<ReadResult<Vec<_>>>()?;
        // A list that the pickle has once could be the entries of any number of dictionaries.
        let left = self.copies_left.checked_sub(entries.len());
        self.copies_left = left.ok_or("it makes dictionaries of the same list again and again")?;
        Ok(entries)
    }

    fn list(&self, item: PickleItem) -> Option<&[PickleItem]> {
        let PickleItem::PicklePart(number) = item else { return None };
        match self.parts.get(number)? {
            PicklePart::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text at a place of the stack.
    fn text_at(&self, place: usize) -> ReadResult<Arc<str>> {
        let part = match self.stack.get(place) {
            Some(PickleItem::PicklePart(number)) => self.parts.get(*number),
            _ => None,
        };
        match part {
            Some(PicklePart::Text(text)) => Ok(Arc::clone(text)),
            _ => Err("it names something by what is no text".into()),
        }
    }

    /// The text up to the end of the line.
    fn line(&mut self) -> ReadResult<&'a str> {
        let end = self.rest.iter().position(|byte| *byte == b'\n').ok_or(END)?;
        let line = self.take(end + 1)?;
        std::str::from_utf8(&line[..end]).map_err(|_| NOT_UTF8.into())
    }

    fn number(&mut self, instruction: u8) -> ReadResult<PickleItem> {
        let number = match instruction {
            code::BININT1 => self.u8()?.into(),
            code::BININT2 => u16::from_le_bytes(self.array()?).into(),
            code::BININT => i32::from_le_bytes(self.array()?).into(),
            code::LONG1 => return self.u8().and_then(|length| self.long(length.into())),
            _ => return self.u32().and_then(|length| self.long(length as usize)),
        };
        Ok(PickleItem::Int(number))
    }

    /// A number of any length, in two's complement.
    fn long(&mut self, length: usize) -> ReadResult<PickleItem> {
        let bytes = self.take(length)?;
        let sign = bytes.last().map_or(0, |last| if last & 0x80 == 0 { 0 } else { 0xff });
        let mut number = [sign; 16];
        if length > number.len() {
            return Err("it has a number of more than 128 bits".into());
        }
        number[..length].copy_from_slice(bytes);
        Ok(PickleItem::Int(i128::from_le_bytes(number)))
    }

    fn text(&mut self, instruction: u8) -> ReadResult<Arc<str>> {
        let length = match instruction {
            code::SHORT_BINUNICODE => self.u8()?.into(),
            code::BINUNICODE => self.u32()? as usize,
            _ => usize::try_from(u64::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
        };
        let text = std::str::from_utf8(self.take(length)?);
        Ok(text.map_err(|_| NOT_UTF8)?.into())
    }

    fn append(&mut self, instruction: u8) -> ReadResult<()> {
        let more = match instruction {
            code::APPEND => vec![self.pop()?],
            _ => self.since_mark()?,
        };
        match self.top()? {
            PicklePart::List(items) => items.extend(more),
            _ => return Err("it appends to what is no list".into()),
        }
        Ok(())
    }

    fn set_items(&mut self, instruction: u8) -> ReadResult<()> {
        let more = match instruction {
            code::SETITEM => {
                let first = self.last(2)?;
                self.stack.split_off(first)
            }
            _ => self.since_mark()?,
        };
        let more = pairs(&more)?;
        match self.top()? {
            PicklePart::Dict(entries) => entries.extend(more),
            _ => return Err("it sets entries of what is no dictionary".into()),
        }
        Ok(())
    }

    fn put(&mut self, instruction: u8) -> ReadResult<()> {
        let number = match instruction {
            code::MEMOIZE => u32::try_from(self.memo.len()).map_err(|_| "it keeps too much")?,
            code::BINPUT => self.u8()?.into(),
            _ => self.u32()?,
        };
        let top = *self.stack.last().ok_or(STACK)?;
        self.memo.insert(number, top);
        Ok(())
    }

    fn push(&mut self, part: PicklePart) {
        self.stack.push(PickleItem::PicklePart(self.parts.len()));
        self.parts.push(part);
    }

    fn pop(&mut self) -> ReadResult<PickleItem> {
        let first = self.last(1)?;
        Ok(self.stack.split_off(first)[0])
    }

    /// The index of the first of the last so many items, which come after the last mark.
    fn last(&self, count: usize) -> ReadResult<usize> {
        let mark = self.marks.last().copied().unwrap_or(0);
        self.stack.len().checked_sub(count).filter(|first| *first >= mark).ok_or(STACK.into())
    }

    fn since_mark(&mut self) -> ReadResult<Vec<PickleItem>> {
        let mark = self.marks.pop().ok_or("it refers to a mark that it has not set")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> ReadResult<&mut PicklePart> {
        match self.stack.last() {
            Some(PickleItem::PicklePart(number)) => self.parts.get_mut(*number).ok_or(STACK.into()),
            _ => Err(STACK.into()),
        }
    }

    fn take(&mut self, count: usize) -> ReadResult<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(END)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| END.into())
    }

    fn u8(&mut self) -> ReadResult<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> ReadResult<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
}

const STACK: &str = "an instruction has nothing to work on";
const END: &str = "it ends too early";
const NOT_UTF8: &str = "it has a text that is not UTF-8";
const CLASSES: &str = "it has more than plain data: it would make objects of Python's classes";

fn pairs(items: &[PickleItem]) -> ReadResult<Vec<(PickleItem, PickleItem)>> {
    let (pairs, rest) = items.as_chunks();
    if !rest.is_empty() {
        return Err("it has a key without a value".into());
    }
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}
