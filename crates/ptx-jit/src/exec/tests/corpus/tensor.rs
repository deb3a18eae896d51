//! Tensor cores, and copies and barriers in memory, as CUDA's headers use them.

use half::f16;

use super::{integers, launch, on_each, run};

/// Small whole numbers, of which sums of products are exact in any type.
fn small(count: usize, seed: u64) -> Vec<i32> {
    integers(count, seed).into_iter().map(|number| number.rem_euclid(7) - 3).collect()
}

fn halves(numbers: &[i32]) -> Vec<u16> {
    numbers.iter().map(|&number| f16::from_f32(number as f32).to_bits()).collect()
}

#[test]
fn halves_are_multiplied_as_fragments() {
    on_each!("tensor", |device| {
        let (a, b) = (small(256, 1), small(256, 2));
        let (left, right) = (device.upload(&halves(&a)), device.upload(&halves(&b)));
        let product: Vec<f32> = run(device, "halves", 32, &[&left, &right], 256);
        for (row, column) in (0..256).map(|at| (at / 16, at % 16)) {
            let terms = (0..16).map(|k| a[16 * row + k] * b[16 * column + k]);
            let expected = 2 * terms.sum::<i32>();
            assert_eq!(product[16 * row + column] as i32, expected, "{row}, {column}");
        }
    });
}

#[test]
fn a_flat_matrix_is_multiplied_with_sums_of_halves() {
    on_each!("tensor", |device| {
        let (a, b) = (small(8 * 16, 3), small(16 * 32, 4));
        let (left, right) = (device.upload(&halves(&a)), device.upload(&halves(&b)));
        let product: Vec<u16> = run(device, "flat_halves", 32, &[&left, &right], 256);
        for (row, column) in (0..256).map(|at| (at / 32, at % 32)) {
            let terms = (0..16).map(|k| a[16 * row + k] * b[32 * k + column]);
            let expected = 1 + terms.sum::<i32>();
            let value = f16::from_bits(product[8 * column + row]).to_f32();
            assert_eq!(value as i32, expected, "{row}, {column}");
        }
    });
}

#[test]
fn products_of_bytes_are_added_to_integers() {
    on_each!("tensor", |device| {
        let byte = |numbers: Vec<i32>| -> Vec<i32> {
            numbers.into_iter().map(|number| i32::from(number as i8)).collect()
        };
        let (a, b) = (byte(integers(32 * 16, 5)), byte(integers(16 * 8, 6)));
        let words = |numbers: &[i32]| -> Vec<u32> {
            let word = |bytes: &[i32]| {
                u32::from_le_bytes(std::array::from_fn(|index| bytes[index] as i8 as u8))
            };
            numbers.chunks(4).map(word).collect()
        };
        // The right factor's rows are 16 bytes apart.
        let mut apart = vec![0; 16 * 16];
        for (row, numbers) in b.chunks(8).enumerate() {
            apart[16 * row..][..8].copy_from_slice(numbers);
        }
        let mut sums = integers(256, 7);
        (sums[0], sums[1]) = (i32::MAX, i32::MIN);
        let (left, right) = (device.upload(&words(&a)), device.upload(&words(&apart)));
        let product = device.upload(&sums);
        launch(device, "bytes", [1, 32], &[&left, &right, &product]);
        let product: Vec<i32> = device.download(product);
        for (row, column) in (0..256).map(|at| (at / 8, at % 8)) {
            let terms = (0..16).map(|k| i64::from(a[32 * k + row] * b[8 * k + column]));
            let exact = i64::from(sums[8 * row + column]) + terms.sum::<i64>();
            let expected = exact.clamp(i32::MIN.into(), i32::MAX.into());
            assert_eq!(i64::from(product[8 * row + column]), expected, "{row}, {column}");
        }
    });
}

#[test]
fn a_pipeline_copies_while_others_read() {
    on_each!("tensor", |device| {
        let words = integers(4 * 256, 8);
        let input = device.upload(&words);
        let copied: Vec<i32> = run(device, "pipeline", 64, &[&input], 4 * 256);
        for (at, &word) in copied.iter().enumerate() {
            let (step, thread, part) = (at / 256, at / 4 % 64, at % 4);
            let is_zero = step == 3 && part >= 2;
            let expected = if is_zero { 0 } else { words[256 * step + 4 * (63 - thread) + part] };
            assert_eq!(word, expected, "{at}");
        }
    });
}

#[test]
fn barriers_in_memory_hand_values_over() {
    on_each!("tensor", |device| {
        let words: Vec<i32> = integers(64, 9).into_iter().map(|word| word / 4).collect();
        let input = device.upload(&words);
        let sums: Vec<i32> = run(device, "barriers", 64, &[&input], 64);
        let expected: Vec<i32> = (0..64).map(|t| 3 * words[63 - t] + 3).collect();
        assert_eq!(sums, expected);
    });
}

#[test]
fn a_group_copies_together() {
    on_each!("tensor", |device| {
        let words = integers(64, 10);
        let input = device.upload(&words);
        let copied: Vec<i32> = run(device, "group_copy", 64, &[&input], 64);
        assert!(copied.iter().eq(words.iter().rev()));
    });
}
