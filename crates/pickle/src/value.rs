//! The contents of a pickle.

use std::sync::Arc;

/// The name of a class or a function of Python, in its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GlobalName {
    /// The module.
    pub module: &'static str,
    /// The name in the module.
    pub name: &'static str,
}

/// The things that a pickle may have besides plain data. `collections.OrderedDict` is a dictionary,
/// and needs no allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowed<'a> {
    /// The classes and functions that it may name. Calls of them are kept as names and arguments.
    pub globals: &'a [GlobalName],
    /// Whether it may refer to what lies outside of it (Python's `persistent_id`).
    pub persistent_ids: bool,
}

impl Allowed<'_> {
    /// Plain data, and nothing else.
    pub const NOTHING: Allowed<'static> = Allowed { globals: &[], persistent_ids: false };
}

/// The contents of a pickle. Its parts refer to each other by number, as often as the pickle says so:
/// nothing is copied, so that a small pickle cannot unfold into a large one.
#[derive(Debug)]
pub struct Pickle {
    pub(crate) parts: Vec<PicklePart>,
    pub(crate) root: PickleItem,
}

/// A value, or the number of one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PickleItem {
    None,
    Int(i128),
    Float(f64),
    Global(GlobalName),
    PicklePart(usize),
}

#[derive(Debug)]
pub(crate) enum PicklePart {
    Text(Arc<str>),
    List(Vec<PickleItem>),
    Dict(Vec<(PickleItem, PickleItem)>),
    Call { function: GlobalName, arguments: PickleItem },
    PersistentId(PickleItem),
}

/// A value in a pickle.
#[derive(Debug, Clone, Copy)]
pub struct PickleValue<'a> {
    pickle: &'a Pickle,
    item: PickleItem,
}

impl Pickle {
    /// The value that was pickled.
    pub fn root(&self) -> PickleValue<'_> {
        PickleValue { pickle: self, item: self.root }
    }
}

impl<'a> PickleValue<'a> {
    /// Distinguishes the values that are not numbers: equal for what is one and the same.
    pub fn identity(self) -> Option<usize> {
        match self.item {
            PickleItem::PicklePart(number) => Some(number),
            _ => None,
        }
    }

    /// Whether it is Python's `None`.
    pub fn is_none(self) -> bool {
        matches!(self.item, PickleItem::None)
    }

    /// A number, or a truth value as 0 or 1.
    pub fn int(self) -> Option<i128> {
        match self.item {
            PickleItem::Int(value) => Some(value),
            _ => None,
        }
    }

    /// A floating-point number.
    pub fn float(self) -> Option<f64> {
        match self.item {
            PickleItem::Float(value) => Some(value),
            _ => None,
        }
    }

    /// A text.
    pub fn text(self) -> Option<&'a Arc<str>> {
        match self.part()? {
            PicklePart::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list or a tuple.
    pub fn items(self) -> Option<impl ExactSizeIterator<Item = PickleValue<'a>>> {
        match self.part()? {
            PicklePart::List(items) => Some(items.iter().map(move |item| self.with(*item))),
            _ => None,
        }
    }

    /// The entries of a dictionary. A key that was set twice is there twice; the last one counts.
    pub fn entries(
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
    pub fn get(self, key: &str) -> Option<PickleValue<'a>> {
        let is_it =
            |(other, _): &(PickleValue<'a>, _)| other.text().is_some_and(|text| **text == *key);
        // What is set again replaces what was set.
        self.entries()?.rev().find(is_it).map(|(_, value)| value)
    }

    /// A class or a function by its name.
    pub fn global(self) -> Option<GlobalName> {
        match self.item {
            PickleItem::Global(name) => Some(name),
            _ => None,
        }
    }

    /// An object that Python would make with a call: the function, and the tuple of its arguments.
    pub fn call(self) -> Option<(GlobalName, PickleValue<'a>)> {
        match self.part()? {
            PicklePart::Call { function, arguments } => Some((*function, self.with(*arguments))),
            _ => None,
        }
    }

    /// The name of something that lies outside of the pickle (Python's `persistent_id`).
    pub fn persistent_id(self) -> Option<PickleValue<'a>> {
        match self.part()? {
            PicklePart::PersistentId(id) => Some(self.with(*id)),
            _ => None,
        }
    }

    fn with(self, item: PickleItem) -> PickleValue<'a> {
        PickleValue { item, ..self }
    }

    fn part(self) -> Option<&'a PicklePart> {
        self.pickle.parts.get(self.identity()?)
    }
}
