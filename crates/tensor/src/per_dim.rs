//! Lists with a number for each dimension of a tensor.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// The most numbers that lie in the list itself.
const MAX_FEW: usize = 4;

/// A number for each dimension. Up to four lie in the list itself.
///
/// The few are a field of their own and no variant of an enum, so that a copy of them is one copy of
/// memory, whether there are more or not. What is copied variant by variant is put together from
/// pieces, and a processor that loads such a piece again waits until all of them are stored: that was a
/// sixth of the time that a view takes.
#[derive(Default)]
pub(crate) struct PerDim<T> {
    /// The numbers, and zeros behind them, unless there are `many`.
    few: [T; MAX_FEW],
    /// The number of numbers in `few`.
    count: usize,
    many: Option<Box<[T]>>,
}

impl<T: Copy + Default> PerDim<T> {
    /// So many zeros.
    pub(crate) fn zeros(count: usize) -> PerDim<T> {
        std::iter::repeat_n(T::default(), count).collect()
    }

    /// The list with a number more, which stands at `position`.
    pub(crate) fn inserted(&self, position: usize, number: T) -> PerDim<T> {
        let (before, behind) = self.split_at(position);
        before.iter().copied().chain([number]).chain(behind.iter().copied()).collect()
    }
}

impl<T: Copy> Clone for PerDim<T> {
    #[inline]
    fn clone(&self) -> PerDim<T> {
        let many = match &self.many {
            None => None,
            Some(many) => copy_of_many(many),
        };
        PerDim { few: self.few, count: self.count, many }
    }
}

#[cold]
fn copy_of_many<T: Copy>(many: &[T]) -> Option<Box<[T]>> {
    Some(many.into())
}

impl<T> Deref for PerDim<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.many {
            None => &self.few[..self.count],
            Some(many) => many,
        }
    }
}

impl<T> DerefMut for PerDim<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.many {
            None => &mut self.few[..self.count],
            Some(many) => many,
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for PerDim<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for PerDim<T> {
    #[inline]
    fn eq(&self, other: &PerDim<T>) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for PerDim<T> {}

impl<T: Hash> Hash for PerDim<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Copy + Default> FromIterator<T> for PerDim<T> {
    #[inline]
    fn from_iter<I: IntoIterator<Item = T>>(numbers: I) -> PerDim<T> {
        let mut list = PerDim::default();
        let mut numbers = numbers.into_iter();
        while let Some(number) = numbers.next() {
            match list.few.get_mut(list.count) {
                Some(place) => *place = number,
                None => {
                    return list
                        .few
                        .into_iter()
                        .chain([number])
                        .chain(numbers)
                        .collect::<Vec<T>>()
                        .into();
                }
            }
            list.count += 1;
        }
        list
    }
}

impl<T: Copy + Default> From<&[T]> for PerDim<T> {
    #[inline]
    fn from(numbers: &[T]) -> PerDim<T> {
        numbers.iter().copied().collect()
    }
}

impl<T: Copy + Default> From<Vec<T>> for PerDim<T> {
    fn from(numbers: Vec<T>) -> PerDim<T> {
        match numbers.len() {
            ..=MAX_FEW => PerDim::from(&numbers[..]),
            _ => PerDim { many: Some(numbers.into()), ..PerDim::default() },
        }
    }
}

impl<'a, T> IntoIterator for &'a PerDim<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    #[inline]
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn any_number_of_numbers_is_kept_in_order_and_copied() {
        for count in 0..=9_usize {
            let numbers: Vec<usize> = (10..10 + count).collect();
            let list: PerDim<usize> = numbers.iter().copied().collect();
            let one_more = |list: PerDim<usize>, &number: &usize| list.inserted(list.len(), number);
            let mut grown = numbers.iter().fold(PerDim::default(), one_more);
            for same in
                [&list, &list.clone(), &grown, &PerDim::from(&numbers[..]), &numbers.clone().into()]
            {
                assert_eq!((&**same, same), (&numbers[..], &list));
            }
            assert_eq!(HashSet::from([list.clone()]).replace(grown.clone()), Some(list));
            grown.reverse();
            assert!(grown.iter().rev().eq(&numbers));
        }
    }

    #[test]
    fn a_number_is_put_in_anywhere() {
        for count in [0, 3, 4, 6] {
            for position in 0..=count {
                let mut expected = vec![7; count];
                expected.insert(position, 1);
                assert_eq!(*PerDim::from(vec![7; count]).inserted(position, 1), expected[..]);
            }
        }
        assert_eq!(*PerDim::<isize>::zeros(5), [0; 5]);
    }
}
