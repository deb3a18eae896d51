//! The modifiers of an opcode, used up one by one; what is left at the end is not supported.

use smallvec::SmallVec;

use crate::error::ErrorKind;
use crate::operation::{Clamp, MemoryOrder, Rounding};
use crate::types::{ScalarType, StateSpace};

/// The modifiers of one opcode.
pub(super) struct Modifiers<'s> {
    /// The opcode without modifiers.
    pub(super) name: &'s str,
    words: SmallVec<[&'s str; 8]>,
}

impl<'s> Modifiers<'s> {
    pub(super) fn new(name: &'s str, rest: &'s str) -> Result<Modifiers<'s>, ErrorKind> {
        let words = rest.split('.').filter(|word| !word.is_empty()).collect();
        Ok(Modifiers { name, words })
    }

    /// Takes a modifier. False if it is not there.
    pub(super) fn take(&mut self, word: &str) -> bool {
        let place = self.words.iter().position(|&known| known == word);
        if let Some(place) = place {
            self.words.remove(place);
        }
        place.is_some()
    }

    /// Takes the first modifier that the table knows. Returns its meaning.
    pub(super) fn choose<T: Copy>(&mut self, table: &[(&str, T)]) -> Option<T> {
        self.find(|word| {
            table.iter().find(|&&(known, _)| known == word).map(|&(_, meaning)| meaning)
        })
    }

    /// Takes one of several modifiers, like [`Modifiers::choose`], of which one must be there.
    pub(super) fn require<T: Copy>(
        &mut self,
        what: &'static str,
        table: &[(&str, T)],
    ) -> Result<T, ErrorKind> {
        self.choose(table).ok_or(ErrorKind::MissingModifier(what))
    }

    /// The next type.
    pub(super) fn scalar(&mut self) -> Result<ScalarType, ErrorKind> {
        self.find(ScalarType::from_name).ok_or_else(|| match self.words.last() {
            Some(word) => ErrorKind::UnsupportedModifier((*word).to_owned()),
            None => ErrorKind::MissingModifier("a type"),
        })
    }

    /// The next type, which must be among those.
    pub(super) fn scalar_of(&mut self, allowed: &[ScalarType]) -> Result<ScalarType, ErrorKind> {
        let ty = self.scalar()?;
        if allowed.contains(&ty) {
            return Ok(ty);
        }
        Err(ErrorKind::Unsupported("this instruction with this type"))
    }

    /// The next type, if it is an integer type.
    pub(super) fn integer(&mut self) -> Option<ScalarType> {
        let first = self.words.iter().find_map(|word| ScalarType::from_name(word))?;
        first.is_integer().then(|| self.scalar().ok()).flatten()
    }

    /// The state space; generic where none is given.
    pub(super) fn space(&mut self) -> StateSpace {
        self.find(StateSpace::from_name).unwrap_or(StateSpace::Generic)
    }

    pub(super) fn rounding(&mut self) -> Option<Rounding> {
        self.choose(&[
            ("rn", Rounding::Nearest),
            ("rz", Rounding::TowardZero),
            ("rm", Rounding::Down),
            ("rp", Rounding::Up),
        ])
    }

    pub(super) fn clamp(&mut self) -> Clamp {
        self.choose(&[("sat", Clamp::Saturate), ("relu", Clamp::Relu)]).unwrap_or(Clamp::None)
    }

    /// The memory order, with the scope, which does not matter here: all threads see one memory.
    pub(super) fn order(&mut self) -> MemoryOrder {
        let order = self.choose(&[
            ("volatile", MemoryOrder::Strong),
            ("relaxed", MemoryOrder::Strong),
            ("acquire", MemoryOrder::Strong),
            ("release", MemoryOrder::Release),
            ("acq_rel", MemoryOrder::Release),
            ("sc", MemoryOrder::Release),
            ("mmio", MemoryOrder::Strong),
        ]);
        let order = order.unwrap_or(MemoryOrder::Weak);
        self.take("weak");
        self.scope();
        order
    }

    /// The scope of a fence or an atomic operation.
    pub(super) fn scope(&mut self) -> bool {
        ["cta", "cluster", "gpu", "gl", "sys"].iter().any(|word| self.take(word))
    }

    /// Hints for caches, which are not simulated.
    pub(super) fn cache_hints(&mut self) {
        let hints = |word: &&str| {
            matches!(*word, "ca" | "cg" | "cs" | "cv" | "lu" | "wb" | "wt" | "nc" | "L1" | "L2")
                || ["L1::", "L2::", "evict_"]
                    .iter()
                    .any(|start| word.starts_with(start) && !word.ends_with("cache_hint"))
        };
        self.words.retain(|word| !hints(word));
    }

    /// Refuses modifiers that nobody took.
    pub(super) fn finish(&self) -> Result<(), ErrorKind> {
        match self.words.first() {
            Some(word) => Err(ErrorKind::UnsupportedModifier((*word).to_owned())),
            None => Ok(()),
        }
    }

    fn find<T>(&mut self, meaning: impl Fn(&'s str) -> Option<T>) -> Option<T> {
        let place = self.words.iter().position(|word| meaning(word).is_some())?;
        meaning(self.words.remove(place))
    }
}
