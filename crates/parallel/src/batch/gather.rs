//! Joining what several devices have computed.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use tensor::{Device, Error, Result, Tensor};

/// An output of a module, or a part of one, that can be joined with those of replicas.
///
/// Tensors are joined along their first dimension, and those without dimensions become a vector;
/// tuples, `Vec`, `Option` and maps do it with their parts. It can be implemented for other types of
/// outputs:
///
/// ```
/// use parallel::Gather;
/// use tensor::{Device, Result, Tensor};
///
/// struct Output {
///     scores: Tensor,
///     state: Tensor,
/// }
///
/// impl Gather for Output {
///     fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
///         let parts = parts.into_iter().map(|part| (part.scores, part.state)).collect();
///         let (scores, state) = Gather::gather(parts, device)?;
///         Ok(Output { scores, state })
///     }
/// }
///
/// let part = || {
///     let (scores, state) = (Tensor::zeros([3, 2], ())?, Tensor::zeros([3, 8], ())?);
///     Ok::<_, tensor::Error>(Output { scores, state })
/// };
/// let output = Output::gather(vec![part()?, part()?], Device::Cpu)?;
/// assert_eq!((output.scores.shape(), output.state.shape()), (&[6, 2][..], &[6, 8][..]));
/// # Ok::<(), tensor::Error>(())
/// ```
pub trait Gather: Sized {
    /// Joins the parts on `device`, in their order, of which there is one at least. Gradients flow
    /// back to the parts.
    ///
    /// # Errors
    /// They do not fit together: their shapes, dtypes, lengths or keys differ; or memory is short.
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self>;
}

impl Gather for Tensor {
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
        let here = parts.iter().map(|part| {
            let part = part.to(device)?;
            if part.dims() == 0 { part.unsqueeze(0) } else { Ok(part) }
        });
        Tensor::cat(here.collect::<Result<Vec<_>>>()?, 0)
    }
}

impl<T: Gather> Gather for Vec<T> {
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
        let count = parts.first().map_or(0, Vec::len);
        if parts.iter().any(|part| part.len() != count) {
            return Err(differ("the lengths of a list"));
        }
        let mut members: Vec<_> = parts.into_iter().map(Vec::into_iter).collect();
        let member = |_| T::gather(members.iter_mut().flat_map(Iterator::next).collect(), device);
        (0..count).map(member).collect()
    }
}

impl<T: Gather> Gather for Option<T> {
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
        let count = parts.len();
        let present: Vec<T> = parts.into_iter().flatten().collect();
        match present.len() {
            0 => Ok(None),
            some if some == count => T::gather(present, device).map(Some),
            _ => Err(differ("whether there is an optional part")),
        }
    }
}

impl<K: Ord, T: Gather> Gather for BTreeMap<K, T> {
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
        gather_maps(parts, |map, key| map.remove(key), device)
    }
}

impl<K: Hash + Eq, T: Gather, S: BuildHasher + Default> Gather for HashMap<K, T, S> {
    fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
        gather_maps(parts, |map, key| map.remove(key), device)
    }
}

/// A map with the values of all parts under each key, joined.
fn gather_maps<K, T, M>(
    parts: Vec<M>,
    take: impl Fn(&mut M, &K) -> Option<T>,
    device: Device,
) -> Result<M>
where
    T: Gather,
    M: IntoIterator<Item = (K, T)> + FromIterator<(K, T)>,
{
    let count = parts.len();
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Ok(std::iter::empty().collect()) };
    let mut others: Vec<M> = parts.collect();
    let joined = first.into_iter().map(|(key, value)| {
        let of_others = others.iter_mut().filter_map(|other| take(other, &key));
        let values: Vec<T> = std::iter::once(value).chain(of_others).collect();
        if values.len() != count {
            return Err(differ("the keys of a map"));
        }
        Ok((key, T::gather(values, device)?))
    });
    let joined = joined.collect::<Result<M>>()?;
    match others.into_iter().flatten().next() {
        Some(_) => Err(differ("the keys of a map")),
        None => Ok(joined),
    }
}

macro_rules! for_tuples {
    ($(($($part:ident $index:tt $parts:ident),+))+) => {$(
        impl<$($part: Gather),+> Gather for ($($part,)+) {
            fn gather(parts: Vec<Self>, device: Device) -> Result<Self> {
                $(let mut $parts = Vec::with_capacity(parts.len());)+
                for part in parts {
                    $($parts.push(part.$index);)+
                }
                Ok(($($part::gather($parts, device)?,)+))
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

fn differ(what: &str) -> Error {
    Error::InvalidArgument {
        op: "gather",
        argument: "parts",
        value: format!("{what} differ"),
        why: "every replica gives an output of the same form",
    }
}
