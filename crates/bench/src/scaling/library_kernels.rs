//! The costs of the library's own kernels: sums, optimizers, copies into buckets and out of them.

use std::collections::BTreeSet;

use cuda_sim::control::{self, KernelWork};
use gpu_runtime::{Timeline, Work};
use tensor::DType;

use crate::error::Result;

/// The kernel that joins tensors, and where its argument has the rows, the number of tensors and the
/// bytes of a row of each: `struct Cat` in `kernels/include/abi.cuh`.
const CAT: &str = "cat_u8";
const CAT_ROWS: usize = 8;
const CAT_COUNT: usize = 24;
const CAT_WIDTHS: usize = 32 + 2 * 8 * 64;

/// Runs a step, and declares the kernels that it launches: each moves all elements of all
/// operands once. The driver counts a kernel's accesses as they stand in its code, in which a loop
/// over more elements than the grid has threads stands once, and the rest of a vector as well.
///
/// # Errors
/// A device or the step failed.
pub(super) fn declare(devices: usize, step: impl FnOnce() -> Result<()>) -> Result<()> {
    let all = (0..devices).map(gpu_runtime::Device::get).collect::<Result<Vec<_>, _>>()?;
    let timeline = Timeline::start(all)?;
    step()?;
    let kernel = |work: &Work| match work {
        Work::Kernel { name } => Some(name.to_string()),
        _ => None,
    };
    let operations = timeline.finish()?.operations;
    let names: BTreeSet<String> = operations.iter().filter_map(|one| kernel(&one.work)).collect();
    control::declare_kernel(CAT, |_, _, arguments| KernelWork {
        bytes: 2 * joined_bytes(arguments),
        instructions: 0,
    });
    for name in names {
        let Some(bytes) = bytes_of_an_element(&name) else { continue };
        control::declare_kernel(&name, move |_, _, arguments| {
            let elements = arguments.first_chunk().copied().map_or(0, u64::from_le_bytes);
            KernelWork { bytes: elements * bytes, instructions: 0 }
        });
    }
    Ok(())
}

/// The bytes of all tensors that are joined.
fn joined_bytes(arguments: &[u8]) -> u64 {
    let number = |place: usize| {
        arguments.get(place..).and_then(|rest| rest.first_chunk()).copied().map(u64::from_le_bytes)
    };
    // The number of tensors is the lower half of its word.
    let (rows, count) = (number(CAT_ROWS), number(CAT_COUNT).map(|word| word & 0xffff_ffff));
    let widths = (0..count.unwrap_or(0)).map(|part| number(CAT_WIDTHS + 8 * part as usize));
    rows.unwrap_or(0) * widths.map(|width| width.unwrap_or(0)).sum::<u64>()
}

/// The bytes of an element of each operand, of a kernel over dense operands, whose name tells their
/// dtypes (`adam_f32_f32_dense_0123`) and whose first argument is the number of elements.
fn bytes_of_an_element(name: &str) -> Option<u64> {
    let (operands, _hash) = name.split_once("_dense_")?;
    let size = |word: &str| DType::ALL.into_iter().find(|dtype| dtype.short_name() == word);
    let sizes = operands.rsplit('_').map_while(size).map(|dtype| dtype.size() as u64);
    Some(sizes.sum()).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_kernel_tells_the_sizes_of_its_operands() {
        assert_eq!(bytes_of_an_element("adam_f32_f32_f32_dense_0f"), Some(12));
        assert_eq!(bytes_of_an_element("all_reduce_i64_f16_dense_0f"), Some(10));
        assert_eq!(bytes_of_an_element("add_f32_strided2_0f"), None);
        assert_eq!(bytes_of_an_element("backward"), None);
    }

    #[test]
    fn the_argument_of_a_join_tells_how_much_is_copied() {
        let mut arguments = vec![0; CAT_WIDTHS + 64 * 8];
        let mut put = |place: usize, number: u64| {
            arguments[place..place + 8].copy_from_slice(&number.to_le_bytes());
        };
        put(CAT_ROWS, 2);
        put(CAT_COUNT, 3 | 16 << 32);
        for (part, width) in [100, 20, 3].into_iter().enumerate() {
            put(CAT_WIDTHS + 8 * part, width);
        }
        assert_eq!(joined_bytes(&arguments), 246);
    }
}
