//! Atomic operations, whose results do not depend on the order of threads.

use ::half::{bf16, f16};

use super::{launch, on_each};

#[test]
fn every_scope_and_width_counts_every_thread() {
    on_each!("atomic", |device| {
        let words = device.upload(&[0u32, 0, 0, 7, 0, u32::MAX, u32::MAX]);
        let wide = device.upload(&[0u64, u64::MAX, 0]);
        launch(device, "scopes", [2, 64], &[&words, &wide]);
        let sum = 127 * 64;
        assert_eq!(device.download::<u32>(words), [64, 64, sum, 7, u32::MAX, 0, 0]);
        let xor = (0..128).fold(0u64, |all, t| all ^ 1 << (t & 63));
        assert_eq!(device.download::<u64>(wide), [u64::from(sum) << 30, 5, xor]);

        let signed = device.upload(&[i64::MIN, 0i64]);
        let wide = device.upload(&[u64::MAX, 0, 100, 0, 0]);
        launch(device, "wide", [2, 64], &[&signed, &wide]);
        assert_eq!(device.download::<i64>(signed), [-1, -(127 << 33)]);
        let wide: Vec<u64> = device.download(wide);
        assert_eq!(wide[..3], [0, u64::MAX, 228]);
        // Whoever was the last left what it had read.
        assert!((100..228).contains(&(wide[3] ^ 1 << 63)));
        assert!(wide[4] >= 1);
    });
}

#[test]
fn floats_of_every_kind_are_added() {
    on_each!("atomic", |device| {
        let (singles, double) = (device.allocate(12), device.allocate(8));
        let (halves, brains) = (device.allocate(8), device.allocate(8));
        let results = device.allocate(64 * 4);
        launch(device, "floats", [1, 64], &[&singles, &double, &halves, &brains, &results]);
        assert_eq!(device.download::<f32>(singles), [64.0, -32.0, 2.5]);
        assert_eq!(device.download::<f64>(double), [8.0]);
        let halves: Vec<u16> = device.download(halves);
        let halves: Vec<f32> = halves.iter().map(|&bits| f16::from_bits(bits).to_f32()).collect();
        assert_eq!(halves, [0.0, 32.0, 64.0, -64.0]);
        let brains: Vec<u16> = device.download(brains);
        let brains: Vec<f32> = brains.iter().map(|&bits| bf16::from_bits(bits).to_f32()).collect();
        assert_eq!(brains, [0.0, 32.0, 128.0, 64.0]);
        let mut olds: Vec<f32> = device.download(results);
        olds.sort_by(f32::total_cmp);
        assert_eq!(olds, (0..64).map(|old| old as f32).collect::<Vec<_>>());
    });
}

#[test]
fn shared_memory_has_them_all() {
    on_each!("atomic", |device| {
        let (words, floats) = (device.allocate(36), device.allocate(16));
        launch(device, "in_shared", [1, 64], &[&words, &floats]);
        let words: Vec<u32> = device.download(words);
        // inc and dec go round in seven steps: 64 steps are nine rounds and one more.
        assert_eq!(words[..5], [2016, 53, 3, 1, 6]);
        assert!(words[5] >= 1);
        assert_eq!(words[6..], [64u32.wrapping_neg(), 99, 64]);
        assert_eq!(device.download::<f32>(floats), [16.0, 96.0, 64.0, 128.0]);
    });
}

#[test]
fn addresses_without_a_space_work_in_functions_too() {
    on_each!("atomic", |device| {
        let (words, floats) = (device.allocate(16), device.allocate(8));
        launch(device, "generic", [1, 64], &[&words, &floats]);
        assert_eq!(device.download::<u32>(words), [64, 62, 64, 63]);
        assert_eq!(device.download::<f32>(floats), [16.0, 16.0]);
    });
}

#[test]
fn sixteen_bits_are_compared_and_swapped() {
    on_each!("atomic", |device| {
        let shorts = device.upload(&[7u16, 65000]);
        launch(device, "short_cas", [1, 64], &[&shorts]);
        assert_eq!(device.download::<u16>(shorts), [7 + 96, 65000 + 96]);
    });
}

#[test]
fn what_was_released_is_acquired_by_another_block() {
    on_each!("atomic", |device| {
        let (data, ready) = (device.allocate(4), device.allocate(4));
        let out = device.allocate(8);
        launch(device, "orders", [2, 32], &[&data, &ready, &out]);
        let out: Vec<i32> = device.download(out);
        assert_eq!(out[0], 42);
        assert!(out[1] >= 3, "{out:?}");
        assert_eq!(device.download::<i32>(ready), [1]);
    });
}

#[test]
fn vectors_are_added_element_by_element() {
    on_each!("atomic", |device| {
        let floats = device.allocate(32);
        launch(device, "vectors", [1, 64], &[&floats]);
        let expected = [64.0, 128.0, 0.0, 0.0, 64.0, 128.0, 192.0, 256.0];
        assert_eq!(device.download::<f32>(floats), expected);
    });
}

#[test]
fn reductions_written_as_assembler_reduce() {
    on_each!("atomic", |device| {
        let words = device.upload(&[0u32, (-100i32) as u32, 0, 0, 0]);
        let halves = device.allocate(8);
        launch(device, "reductions", [1, 64], &[&words, &halves]);
        assert_eq!(device.download::<u32>(words), [2016, 23, u32::MAX, 4, 77]);
        let halves: Vec<u16> = device.download(halves);
        let halves: Vec<f32> = halves.iter().map(|&bits| f16::from_bits(bits).to_f32()).collect();
        assert_eq!(halves, [64.0, 0.0, 64.0, 128.0]);
    });
}
