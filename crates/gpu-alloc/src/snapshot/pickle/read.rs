//! Reads pickles.

use std::collections::HashMap;
use std::sync::Arc;

use super::code;

/// The contents of a pickle. Its parts refer to each other by number, as often as the pickle says so:
/// nothing is copied, so that a small pickle cannot unfold into a large one.
#[derive(Debug)]
pub(in crate::snapshot) struct Pickle {
    parts: Vec<PicklePart>,
    root: PickleItem,
}

/// A value, or the number of one.
#[derive(Debug, Clone, Copy)]
enum PickleItem {
    None,
    Int(i128),
    Float,
    PicklePart(usize),
}

#[derive(Debug)]
enum PicklePart {
    Text(Arc<str>),
    List(Vec<PickleItem>),
    Dict(Vec<(PickleItem, PickleItem)>),
}

/// A value in a pickle.
#[derive(Debug, Clone, Copy)]
pub(in crate::snapshot) struct PickleValue<'a> {
    pickle: &'a Pickle,
    item: PickleItem,
}

/// Why bytes are no pickle that can be read: what is wrong.
type PickleProblem = &'static str;

impl Pickle {
    /// Reads a pickle.
    ///
    /// # Errors
    /// The place where it ends in error, and what is wrong there.
    pub(in crate::snapshot) fn read(bytes: &[u8]) -> Result<Pickle, (usize, PickleProblem)> {
        let mut reader = PickleReader::new(bytes);
        match reader.run() {
            Ok(root) => Ok(Pickle { parts: reader.parts, root }),
            Err(problem) => Err((bytes.len() - reader.rest.len(), problem)),
        }
    }

    pub(in crate::snapshot) fn root(&self) -> PickleValue<'_> {
        PickleValue { pickle: self, item: self.root }
    }
}

impl<'a> PickleValue<'a> {
    /// Distinguishes the values that are not numbers: equal for what is one and the same.
    pub(in crate::snapshot) fn identity(self) -> Option<usize> {
        match self.item {
            PickleItem::PicklePart(number) => Some(number),
            _ => None,
        }
    }

    pub(in crate::snapshot) fn is_none(self) -> bool {
        matches!(self.item, PickleItem::None)
    }

    /// A number, or a truth value as 0 or 1.
    pub(in crate::snapshot) fn int(self) -> Option<i128> {
        match self.item {
            PickleItem::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(in crate::snapshot) fn text(self) -> Option<&'a Arc<str>> {
        match self.part()? {
            PicklePart::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list or a tuple.
    pub(in crate::snapshot) fn items(
        self,
    ) -> Option<impl ExactSizeIterator<Item = PickleValue<'a>>> {
        match self.part()? {
            PicklePart::List(items) => Some(items.iter().map(move |item| self.with(*item))),
            _ => None,
        }
    }

    /// The entries of a dictionary.
    pub(in crate::snapshot) fn entries(
        self,
    ) -> Option<
        impl DoubleEndedIterator<Item = (PickleValue<'a>, PickleValue<'a>)> + ExactSizeIterator,
    > {
        match self.part()? {
            PicklePart::Dict(entries) => {
                Some(entries.iter().map(move |(key, value)| (self.with(*key), self.with(*value))))
            }
            _ => None,
        }
    }

    /// The value of a key in a dictionary.
    pub(in crate::snapshot) fn get(self, key: &str) -> Option<PickleValue<'a>> {
        let is_it =
            |(other, _): &(PickleValue<'a>, _)| other.text().is_some_and(|text| **text == *key);
        // What is set again replaces what was set.
        self.entries()?.rev().find(is_it).map(|(_, value)| value)
    }

    fn with(self, item: PickleItem) -> PickleValue<'a> {
        PickleValue { item, ..self }
    }

    fn part(self) -> Option<&'a PicklePart> {
        self.pickle.parts.get(self.identity()?)
    }
}

/// Executes the instructions.
struct PickleReader<'a> {
    rest: &'a [u8],
    parts: Vec<PicklePart>,
    stack: Vec<PickleItem>,
    /// The length of the stack at each mark.
    marks: Vec<usize>,
    memo: HashMap<u32, PickleItem>,
}

impl<'a> PickleReader<'a> {
    fn new(rest: &'a [u8]) -> PickleReader<'a> {
        PickleReader {
            rest,
            parts: Vec::new(),
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
        }
    }

    fn run(&mut self) -> Result<PickleItem, PickleProblem> {
        if self.take(1)? != [code::PROTO] {
            return Err("it is not a pickle of protocol 2 to 5");
        }
        if !(2..=5).contains(&self.u8()?) {
            return Err("the protocol is not one of 2 to 5");
        }
        loop {
            match self.u8()? {
                code::STOP => return self.pop(),
                code::MARK => self.marks.push(self.stack.len()),
                instruction => self.execute(instruction)?,
            }
        }
    }

    fn execute(&mut self, instruction: u8) -> Result<(), PickleProblem> {
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
                self.take(8)?;
                self.stack.push(PickleItem::Float);
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
            _ => {
                return Err(
                    "it has more than plain data: it would make objects of Python's classes",
                );
            }
        }
        Ok(())
    }

    fn number(&mut self, instruction: u8) -> Result<PickleItem, PickleProblem> {
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
    fn long(&mut self, length: usize) -> Result<PickleItem, PickleProblem> {
        let bytes = self.take(length)?;
        let sign = bytes.last().map_or(0, |last| if last & 0x80 == 0 { 0 } else { 0xff });
        let mut number = [sign; 16];
        if length > number.len() {
            return Err("it has a number of more than 128 bits");
        }
        number[..length].copy_from_slice(bytes);
        Ok(PickleItem::Int(i128::from_le_bytes(number)))
    }

    fn text(&mut self, instruction: u8) -> Result<Arc<str>, PickleProblem> {
        let length = match instruction {
            code::SHORT_BINUNICODE => self.u8()?.into(),
            code::BINUNICODE => self.u32()? as usize,
            _ => usize::try_from(u64::from_le_bytes(self.array()?)).unwrap_or(usize::MAX),
        };
        let text = std::str::from_utf8(self.take(length)?);
        Ok(text.map_err(|_| "it has a text that is not UTF-8")?.into())
    }

    fn append(&mut self, instruction: u8) -> Result<(), PickleProblem> {
        let more = match instruction {
            code::APPEND => vec![self.pop()?],
            _ => self.since_mark()?,
        };
        match self.top()? {
            PicklePart::List(items) => items.extend(more),
            _ => return Err("it appends to what is no list"),
        }
        Ok(())
    }

    fn set_items(&mut self, instruction: u8) -> Result<(), PickleProblem> {
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
            _ => return Err("it sets entries of what is no dictionary"),
        }
        Ok(())
    }

    fn put(&mut self, instruction: u8) -> Result<(), PickleProblem> {
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

    fn pop(&mut self) -> Result<PickleItem, PickleProblem> {
        let first = self.last(1)?;
        Ok(self.stack.split_off(first)[0])
    }

    /// The index of the first of the last so many items, which come after the last mark.
    fn last(&self, count: usize) -> Result<usize, PickleProblem> {
        let mark = self.marks.last().copied().unwrap_or(0);
        self.stack.len().checked_sub(count).filter(|first| *first >= mark).ok_or(STACK)
    }

    fn since_mark(&mut self) -> Result<Vec<PickleItem>, PickleProblem> {
        let mark = self.marks.pop().ok_or("it refers to a mark that it has not set")?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> Result<&mut PicklePart, PickleProblem> {
        match self.stack.last() {
            Some(PickleItem::PicklePart(number)) => self.parts.get_mut(*number).ok_or(STACK),
            _ => Err(STACK),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8], PickleProblem> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PickleProblem> {
        self.take(N)?.try_into().map_err(|_| "it ends too early")
    }

    fn u8(&mut self) -> Result<u8, PickleProblem> {
        Ok(self.array::<1>()?[0])
    }

    fn u32(&mut self) -> Result<u32, PickleProblem> {
        Ok(u32::from_le_bytes(self.array()?))
    }
}

const STACK: PickleProblem = "an instruction has nothing to work on";

fn pairs(items: &[PickleItem]) -> Result<Vec<(PickleItem, PickleItem)>, PickleProblem> {
    let (pairs, rest) = items.as_chunks();
    if !rest.is_empty() {
        return Err("it has a key without a value");
    }
    Ok(pairs.iter().map(|[key, value]| (*key, *value)).collect())
}
