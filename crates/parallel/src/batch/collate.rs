//! Joining samples into a batch.

use std::collections::BTreeMap;

use tensor::{DType, Device, Error, Result, Tensor};

/// A sample that can be joined with others to a batch (`default_collate`).
///
/// Tensors of one shape are stacked along a new first dimension, numbers become a tensor, text
/// becomes a `Vec`, and tuples and maps are joined part by part. It can be implemented for other
/// types of samples:
///
/// ```
/// use parallel::Collate;
/// use tensor::{Result, Tensor, tensor};
///
/// struct Sample(Tensor);
///
/// impl Collate for Sample {
///     type Batch = Tensor;
///     fn collate(samples: Vec<Self>) -> Result<Tensor> {
///         Tensor::collate(samples.into_iter().map(|sample| sample.0).collect())
///     }
/// }
/// let batch = Sample::collate(vec![Sample(tensor![1.0, 2.0]?), Sample(tensor![3.0, 4.0]?)])?;
/// assert_eq!(batch.shape(), [2, 2]);
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait Collate: Sized {
    /// The type of the batch.
    type Batch;

    /// Joins the samples, in their order.
    ///
    /// # Errors
    /// They do not fit together: their shapes, dtypes, devices or keys differ.
    fn collate(samples: Vec<Self>) -> Result<Self::Batch>;
}

impl Collate for Tensor {
    type Batch = Tensor;

    fn collate(samples: Vec<Self>) -> Result<Tensor> {
        Tensor::stack(&samples, 0)
    }
}

impl Collate for String {
    type Batch = Vec<String>;

    fn collate(samples: Vec<Self>) -> Result<Vec<String>> {
        Ok(samples)
    }
}

macro_rules! for_numbers {
    ($($type:ty => $dtype:ident)+) => {$(
        impl Collate for $type {
            type Batch = Tensor;

            fn collate(samples: Vec<Self>) -> Result<Tensor> {
                let count = samples.len();
                Tensor::from_vec(samples, [count], (DType::$dtype, Device::Cpu))
            }
        }
    )+};
}
for_numbers! { f32 => F32 f64 => F64 i64 => I64 u8 => U8 bool => Bool }

impl<K: Ord + Clone + std::fmt::Debug, T: Collate> Collate for BTreeMap<K, T> {
    type Batch = BTreeMap<K, T::Batch>;

    fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
        let mut parts: BTreeMap<K, Vec<T>> = BTreeMap::new();
        let count = samples.len();
        for (key, part) in samples.into_iter().flatten() {
            parts.entry(key).or_default().push(part);
        }
        if let Some((key, _)) = parts.iter().find(|(_, parts)| parts.len() != count) {
            return Err(Error::InvalidArgument {
                op: "collate",
                argument: "samples",
                value: format!("the key {key:?}"),
                why: "every sample of a batch must have it",
            });
        }
        parts.into_iter().map(|(key, parts)| Ok((key, T::collate(parts)?))).collect()
    }
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt $parts:ident),+))+) => {$(
        impl<$($part: Collate),+> Collate for ($($part,)+) {
            type Batch = ($($part::Batch,)+);

            fn collate(samples: Vec<Self>) -> Result<Self::Batch> {
                $(let mut $parts = Vec::with_capacity(samples.len());)+
                for sample in samples {
                    $($parts.push(sample.$index);)+
                }
                Ok(($($part::collate($parts)?,)+))
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
