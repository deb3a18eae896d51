//! Rust data that tensors are made of: numbers, and arrays, slices and vectors of them.

use half::{bf16, f16};

use crate::{Element, Error, Result};

/// A Rust number that tensors are made of. It is stored as an element of its own type, an `i32` as
/// `i64`.
pub trait Number: sealed::Sealed + Copy + 'static {
    /// The type of the element that it is stored as.
    type Stored: Element;
    /// The number as an element.
    fn stored(self) -> Self::Stored;
}

/// Data that a tensor is made of: a number, or an array, slice or vector of data, nested to any
/// depth. All entries of one level must have the same sizes.
pub trait Data {
    /// The type of the numbers at the innermost level.
    type Number: Number;

    /// Appends the sizes of one entry to `shape`. Without an entry they follow from the type: those
    /// of arrays, and 0 for vectors and slices.
    #[doc(hidden)]
    fn measure(entry: Option<&Self>, shape: &mut Vec<usize>);

    /// Appends the numbers in row-major order, and checks the sizes.
    ///
    /// # Errors
    /// An entry has other sizes than the first one.
    #[doc(hidden)]
    fn append(
        &self,
        op: &'static str,
        shape: &[usize],
        numbers: &mut Vec<<Self::Number as Number>::Stored>,
    ) -> Result<()>;

    /// The numbers of several entries, if they lie side by side in memory as elements do.
    #[doc(hidden)]
    fn elements(_entries: &[Self]) -> Option<&[<Self::Number as Number>::Stored]>
    where
        Self: Sized,
    {
        None
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($rust:ty => $stored:ty $(as $elements:ident)?),* $(,)?) => {$(
        impl sealed::Sealed for $rust {}

        impl Number for $rust {
            type Stored = $stored;

            fn stored(self) -> $stored {
                self.into()
            }
        }

        impl Data for $rust {
            type Number = $rust;

            fn measure(_entry: Option<&Self>, _shape: &mut Vec<usize>) {}

            fn append(
                &self,
                _op: &'static str,
                _shape: &[usize],
                numbers: &mut Vec<$stored>,
            ) -> Result<()> {
                numbers.push(self.stored());
                Ok(())
            }
            $(
                fn elements($elements: &[$rust]) -> Option<&[$stored]> {
                    Some($elements)
                }
            )?
        }
    )*};
}

numbers! {
    f64 => f64 as elements, f32 => f32 as elements, f16 => f16 as elements,
    bf16 => bf16 as elements, i64 => i64 as elements, i32 => i64, i16 => i16 as elements,
    i8 => i8 as elements, u8 => u8 as elements, bool => bool as elements
}

impl<D: Data> Data for [D] {
    type Number = D::Number;

    fn measure(entry: Option<&Self>, shape: &mut Vec<usize>) {
        shape.push(entry.map_or(0, <[D]>::len));
        D::measure(entry.and_then(<[D]>::first), shape);
    }

    fn append(
        &self,
        op: &'static str,
        shape: &[usize],
        numbers: &mut Vec<<D::Number as Number>::Stored>,
    ) -> Result<()> {
        let (&expected, inner) = shape.split_first().unwrap_or((&0, &[]));
        if self.len() != expected {
            return Err(Error::Ragged { op, expected, found: self.len(), inner: inner.into() });
        }
        if size_of::<D>() == 0 {
            // Arrays without numbers. There may be more of them than a loop can go through.
            return Ok(());
        }
        self.iter().try_for_each(|entry| entry.append(op, inner, numbers))
    }
}

impl<D: Data, const N: usize> Data for [D; N] {
    type Number = D::Number;

    fn measure(entry: Option<&Self>, shape: &mut Vec<usize>) {
        shape.push(N);
        D::measure(entry.and_then(|entry| entry.first()), shape);
    }

    fn append(
        &self,
        op: &'static str,
        shape: &[usize],
        numbers: &mut Vec<<D::Number as Number>::Stored>,
    ) -> Result<()> {
        self[..].append(op, shape, numbers)
    }

    fn elements(entries: &[Self]) -> Option<&[<D::Number as Number>::Stored]> {
        D::elements(entries.as_flattened())
    }
}

impl<D: Data> Data for Vec<D> {
    type Number = D::Number;

    fn measure(entry: Option<&Self>, shape: &mut Vec<usize>) {
        <[D]>::measure(entry.map(Vec::as_slice), shape);
    }

    fn append(
        &self,
        op: &'static str,
        shape: &[usize],
        numbers: &mut Vec<<D::Number as Number>::Stored>,
    ) -> Result<()> {
        self[..].append(op, shape, numbers)
    }

    fn elements(entries: &[Self]) -> Option<&[<D::Number as Number>::Stored]> {
        match entries {
            [entry] => D::elements(entry),
            _ => None,
        }
    }
}

impl<D: Data + ?Sized> Data for &D {
    type Number = D::Number;

    fn measure(entry: Option<&Self>, shape: &mut Vec<usize>) {
        D::measure(entry.copied(), shape);
    }

    fn append(
        &self,
        op: &'static str,
        shape: &[usize],
        numbers: &mut Vec<<D::Number as Number>::Stored>,
    ) -> Result<()> {
        (**self).append(op, shape, numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape_of<D: Data>(data: &D) -> Vec<usize> {
        let mut shape = Vec::new();
        D::measure(Some(data), &mut shape);
        shape
    }

    #[test]
    fn the_nesting_gives_the_shape() {
        assert_eq!(shape_of(&1.0f32), [0usize; 0]);
        assert_eq!(shape_of(&[[1, 2, 3], [4, 5, 6]]), [2, 3]);
        assert_eq!(shape_of(&vec![vec![true]]), [1, 1]);
        assert_eq!(shape_of(&&[1u8, 2][..]), [2]);
    }

    #[test]
    fn arrays_tell_their_sizes_without_an_entry_and_vectors_do_not() {
        assert_eq!(shape_of(&Vec::<[f32; 3]>::new()), [0, 3]);
        assert_eq!(shape_of(&Vec::<Vec<f32>>::new()), [0, 0]);
    }

    #[test]
    fn rows_of_different_lengths_are_refused() {
        let ragged = vec![vec![1.0f32, 2.0], vec![3.0]];
        let error = ragged.append("new", &[2, 2], &mut Vec::new()).expect_err("ragged");
        assert!(matches!(error, Error::Ragged { expected: 2, found: 1, .. }), "{error}");
    }
}
