//! Values that guards put in force: of several, the last that has not ended.

/// Values in the order in which they came into force. Each can end before those that came later.
#[derive(Debug)]
pub(crate) struct Nested<T> {
    values: Vec<(u64, T)>,
    next: u64,
}

impl<T> Nested<T> {
    pub(crate) const fn new() -> Self {
        Nested { values: Vec::new(), next: 0 }
    }

    /// Puts a value in force; returns the name to end it by.
    pub(crate) fn begin(&mut self, value: T) -> u64 {
        let name = self.next;
        self.next += 1;
        self.values.push((name, value));
        name
    }

    /// Ends a value, whether or not others came since.
    pub(crate) fn end(&mut self, name: u64) -> Option<T> {
        let at = self.values.iter().position(|(other, _)| *other == name)?;
        Some(self.values.remove(at).1)
    }

    /// The value in force.
    #[inline]
    pub(crate) fn last(&self) -> Option<&T> {
        self.values.last().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_end_in_any_order_and_the_last_that_is_left_holds() {
        let mut nested = Nested::new();
        let [one, two, three] = ["one", "two", "three"].map(|value| nested.begin(value));
        assert_eq!(nested.end(two), Some("two"));
        assert_eq!(nested.last(), Some(&"three"));
        assert_eq!(nested.end(three), Some("three"));
        assert_eq!((nested.end(three), nested.last()), (None, Some(&"one")));
        assert_eq!((nested.end(one), nested.last()), (Some("one"), None));
    }
}
