//! Splitting batches into parts for several devices.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use tensor::{Error, Result, Tensor};

/// A batch, or a part of one, that can be split into parts along the samples.
///
/// Tensors are split along their first dimension; tuples, `Option` and maps do it with their parts.
/// A `Vec` of tensors, or of other things that can be split, has a part of each in every part; a
/// `Vec` of text is one text per sample. Numbers, and tensors without dimensions, belong to all
/// samples, and every part has them. It can be implemented for other types of batches:
///
/// ```
/// use parallel::Split;
/// use tensor::{Result, Tensor};
///
/// struct Batch {
///     images: Tensor,
///     names: Vec<String>,
/// }
///
/// impl Split for Batch {
///     fn samples(&self) -> Option<usize> {
///         self.images.samples()
///     }
///
///     fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
///         let parts = (self.images, self.names).split(sizes)?;
///         Ok(parts.into_iter().map(|(images, names)| Batch { images, names }).collect())
///     }
/// }
///
/// let batch = Batch { images: Tensor::zeros([3, 8], ())?, names: vec!["a".into(), "b".into(), "c".into()] };
/// let parts = batch.split(&[2, 1])?;
/// assert_eq!((parts[0].images.shape(), parts[1].names[0].as_str()), (&[2, 8][..], "c"));
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait Split: Sized {
    /// The number of samples; `None` if it is the same for any number of them.
    fn samples(&self) -> Option<usize>;

    /// Parts of the given numbers of samples, in order.
    ///
    /// # Errors
    /// The sizes do not add up to the number of samples.
    fn split(self, sizes: &[usize]) -> Result<Vec<Self>>;
}

impl Split for Tensor {
    fn samples(&self) -> Option<usize> {
        self.shape().first().copied()
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        let Some(samples) = self.samples() else { return Ok(vec![self; sizes.len()]) };
        check(samples, sizes)?;
        let mut begin = 0;
        let part = |&size: &usize| {
            let part = self.narrow(0, begin, size);
            begin += size;
            part
        };
        sizes.iter().map(part).collect()
    }
}

impl Split for Vec<String> {
    fn samples(&self) -> Option<usize> {
        Some(self.len())
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        check(self.len(), sizes)?;
        let mut texts = self.into_iter();
        Ok(sizes.iter().map(|&size| texts.by_ref().take(size).collect()).collect())
    }
}

impl<T: Split> Split for Vec<T> {
    fn samples(&self) -> Option<usize> {
        self.iter().find_map(T::samples)
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        let mut parts: Vec<Vec<T>> = sizes.iter().map(|_| Vec::with_capacity(self.len())).collect();
        for member in self {
            for (part, member) in parts.iter_mut().zip(member.split(sizes)?) {
                part.push(member);
            }
        }
        Ok(parts)
    }
}

impl<T: Split> Split for Option<T> {
    fn samples(&self) -> Option<usize> {
        self.as_ref().and_then(T::samples)
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        match self {
            Some(present) => Ok(present.split(sizes)?.into_iter().map(Some).collect()),
            None => Ok(sizes.iter().map(|_| None).collect()),
        }
    }
}

impl<K: Ord + Clone, T: Split> Split for BTreeMap<K, T> {
    fn samples(&self) -> Option<usize> {
        self.values().find_map(T::samples)
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        split_map(self, sizes)
    }
}

impl<K: Hash + Eq + Clone, T: Split, S: BuildHasher + Default> Split for HashMap<K, T, S> {
    fn samples(&self) -> Option<usize> {
        self.values().find_map(T::samples)
    }

    fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
        split_map(self, sizes)
    }
}

/// A map for each size, with the parts of all values under their keys.
fn split_map<K, T, M>(map: M, sizes: &[usize]) -> Result<Vec<M>>
where
    K: Clone,
    T: Split,
    M: IntoIterator<Item = (K, T)> + Extend<(K, T)> + Default,
{
    let mut parts: Vec<M> = sizes.iter().map(|_| M::default()).collect();
    for (key, value) in map {
        for (part, value) in parts.iter_mut().zip(value.split(sizes)?) {
            part.extend([(key.clone(), value)]);
        }
    }
    Ok(parts)
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt $parts:ident),+))+) => {$(
        impl<$($part: Split),+> Split for ($($part,)+) {
            fn samples(&self) -> Option<usize> {
                None$(.or_else(|| self.$index.samples()))+
            }

            fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
                $(let mut $parts = self.$index.split(sizes)?.into_iter();)+
                let part = |_| Some(($($parts.next()?,)+));
                Ok(sizes.iter().map_while(part).collect())
            }
        }
    )+};
}
for_tuples! {
    (A 0 a)
    (A 0 a, B 1 b)
    (A 0 a, B 1 b, C 2 c)
    (A 0 a, B 1 b, C 2 c, D 3 d)
    (A 0 a, B 1 b, C 2 c, D 3 d, E 4 e)
}

macro_rules! for_all_samples {
    ($($type:ty)+) => {$(
        impl Split for $type {
            fn samples(&self) -> Option<usize> {
                None
            }

            fn split(self, sizes: &[usize]) -> Result<Vec<Self>> {
                Ok(vec![self; sizes.len()])
            }
        }
    )+};
}
for_all_samples! { () bool u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 }

/// The sizes of parts of almost the same size, the larger ones first: one for each of `most`, or for
/// each sample if there are fewer.
pub(crate) fn even_sizes(samples: usize, most: usize) -> Vec<usize> {
    let parts = most.min(samples);
    (0..parts).map(|part| samples / parts + usize::from(part < samples % parts)).collect()
}

fn check(samples: usize, sizes: &[usize]) -> Result<()> {
    if sizes.iter().sum::<usize>() == samples {
        return Ok(());
    }
    Err(Error::InvalidArgument {
        op: "split",
        argument: "sizes",
        value: format!("{sizes:?} of {samples} samples"),
        why: "every tensor of a batch has the same number of samples, and each goes into one part",
    })
}
