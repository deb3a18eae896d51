//! The order in which gradients are reduced, and which of them together.

use std::collections::HashMap;

use tensor::{DType, Tensor};

/// The first bucket is smaller by this factor, so that the first reduction begins early: 1 MiB of 25.
const FIRST_IS_SMALLER: usize = 25;

/// The parameters whose gradients are reduced in one piece, in that order.
pub(super) type BucketMembers = Vec<usize>;

/// Distributes parameters over buckets of at most `limit` bytes, in the order given: that in which
/// their gradients become ready. A bucket has one dtype, and at least one parameter, however large
/// (Li et al., PyTorch Distributed, VLDB 2020, section 3.2.3).
pub(super) fn assign(
    parameters: &[Tensor],
    order: impl IntoIterator<Item = usize>,
    limit: usize,
) -> Vec<BucketMembers> {
    /// The bucket of a dtype that is being filled.
    struct Open {
        number: usize,
        bytes: usize,
    }
    let mut buckets: Vec<BucketMembers> = Vec::new();
    let mut open: HashMap<DType, Open> = HashMap::new();
    for index in order {
        let parameter = &parameters[index];
        let bytes = parameter.numel() * parameter.dtype().size();
        let fits = |open: &&mut Open| {
            let limit = if open.number == 0 { limit / FIRST_IS_SMALLER } else { limit };
            open.bytes.saturating_add(bytes) <= limit
        };
        match open.get_mut(&parameter.dtype()).filter(fits) {
            Some(bucket) => {
                bucket.bytes += bytes;
                buckets[bucket.number].push(index);
            }
            None => {
                open.insert(parameter.dtype(), Open { number: buckets.len(), bytes });
                buckets.push(vec![index]);
            }
        }
    }
    buckets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(sizes: &[usize], dtype: DType) -> Vec<Tensor> {
        sizes.iter().map(|&size| Tensor::zeros([size], dtype).expect("memory")).collect()
    }

    #[test]
    fn a_bucket_ends_where_the_next_parameter_would_exceed_its_limit() {
        let parameters = parameters(&[10, 10, 10, 100, 10], DType::F32);
        assert_eq!(assign(&parameters, 0..5, 80), [vec![0], vec![1, 2], vec![3], vec![4]]);
        assert_eq!(assign(&parameters, (0..5).rev(), 80), [vec![4], vec![3], vec![2, 1], vec![0]]);
    }

    #[test]
    fn dtypes_do_not_share_a_bucket() {
        let mut parameters = parameters(&[10, 10], DType::F32);
        parameters.extend(self::parameters(&[10], DType::F16));
        parameters.swap(1, 2);
        assert_eq!(assign(&parameters, 0..3, 2000), [vec![0, 2], vec![1]]);
    }

    #[test]
    fn the_first_bucket_is_small() {
        let parameters = parameters(&[200_000; 4], DType::F32);
        assert_eq!(assign(&parameters, 0..4, 25 << 20), [vec![0], vec![1, 2, 3]]);
    }
}
