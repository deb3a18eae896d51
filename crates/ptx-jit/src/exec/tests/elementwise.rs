//! Elementwise kernels.

use half::f16;

use super::harness::{at_each_level, corpus};

/// The structure that `copy_strided` takes by value.
fn strided(device: &[u64; 2], sizes: &[i32], from: &[i64], to: &[i64]) -> Vec<u8> {
    let count: i64 = sizes.iter().map(|&size| i64::from(size)).product();
    let mut bytes = Vec::new();
    bytes.extend(device.iter().flat_map(|address| address.to_le_bytes()));
    bytes.extend(count.to_le_bytes());
    bytes.extend((sizes.len() as i32).to_le_bytes());
    let padded =
        |values: &[i64]| (0..8).map(|at| values.get(at).copied().unwrap_or(0)).collect::<Vec<_>>();
    bytes.extend((0..8).flat_map(|at| sizes.get(at).copied().unwrap_or(0).to_le_bytes()));
    bytes.extend([0; 4]);
    bytes.extend(padded(from).iter().chain(&padded(to)).flat_map(|stride| stride.to_le_bytes()));
    bytes
}

#[test]
fn a_strided_copy_transposes_and_broadcasts() {
    at_each_level(corpus!("elementwise"), |device| {
        let values: Vec<f32> = (0..60).map(|value| value as f32).collect();
        let input = device.upload(&values);
        let output = device.allocate(120 * 4);
        // A 3 x 4 x 5 tensor, transposed, twice over.
        let tensor = strided(
            &[input.address, output.address],
            &[2, 5, 4, 3],
            &[0, 1, 5, 20],
            &[60, 12, 3, 1],
        );
        device.launch("copy_strided", [2, 1, 1], [32, 1, 1], 0, &[&tensor]).expect("no fault");
        let result: Vec<f32> = device.download(output);
        for (index, &value) in result.iter().enumerate() {
            let (i, j, k) = (index % 3, index / 3 % 4, index / 12 % 5);
            assert_eq!(value, values[i * 20 + j * 5 + k]);
        }
    });
}

#[test]
fn saxpy_stops_at_the_end() {
    at_each_level(corpus!("elementwise"), |device| {
        let x: Vec<f32> = (0..1000).map(|value| value as f32 * 0.25).collect();
        let (input, output) = (device.upload(&x), device.upload(&vec![1f32; 1001]));
        device
            .launch("saxpy", [8, 1, 1], [128, 1, 1], 0, &[&1000i32, &3f32, &input, &output])
            .expect("no fault");
        let result: Vec<f32> = device.download(output);
        assert!(result[..1000].iter().zip(&x).all(|(&y, &x)| y == 3f32.mul_add(x, 1.0)));
        assert_eq!(result[1000], 1.0);
    });
}

#[test]
fn halves_are_computed_wide_and_rounded_once() {
    at_each_level(corpus!("elementwise"), |device| {
        let x: Vec<f16> =
            (0..256).map(|value| f16::from_f32(value as f32 * 1.37 - 100.0)).collect();
        let bits: Vec<u16> = x.iter().map(|value| value.to_bits()).collect();
        let (input, output) = (device.upload(&bits), device.upload(&bits));
        device
            .launch("half_axpy", [2, 1, 1], [128, 1, 1], 0, &[&256i32, &0.3f32, &input, &output])
            .expect("no fault");
        let result: Vec<u16> = device.download(output);
        for (&got, x) in result.iter().zip(&x) {
            let expected = f16::from_f32(0.3f32.mul_add(x.to_f32(), x.to_f32()));
            assert_eq!(f16::from_bits(got), expected);
        }
        device
            .launch("half2_fma", [1, 1, 1], [128, 1, 1], 0, &[&128i32, &input, &output])
            .expect("no fault");
        let fused: Vec<u16> = device.download(output);
        for ((&got, &before), x) in fused.iter().zip(&result).zip(&x) {
            let exact = x.to_f64() * x.to_f64() + f16::from_bits(before).to_f64();
            let error = (f16::from_bits(got).to_f64() - exact).abs();
            assert!(error <= exact.abs() * 2f64.powi(-11) || exact.abs() > 65504.0, "{x}");
        }
    });
}

#[test]
fn vectors_of_several_types_are_loaded_and_stored() {
    at_each_level(corpus!("elementwise"), |device| {
        let x: Vec<f32> = (0..16).map(|value| value as f32).collect();
        let bytes: Vec<u8> = (0..16).map(|value| value * 15).collect();
        let (input, output, small) =
            (device.upload(&x), device.allocate(64), device.upload(&bytes));
        let wide = device.allocate(64);
        device
            .launch("vectors", [1, 1, 1], [32, 1, 1], 0, &[&4i32, &input, &output, &small, &wide])
            .expect("no fault");
        let reversed: Vec<f32> = device.download(output);
        assert_eq!(reversed[4..8], [7.0, 6.0, 5.0, 4.0]);
        let wide: Vec<f64> = device.download(wide);
        assert_eq!(wide[2..4], [60.0 + 256.0 * 75.0, -15.0]);
    });
}

#[test]
fn philox_gives_the_published_numbers() {
    at_each_level(corpus!("elementwise"), |device| {
        let output = device.allocate(32 * 16);
        device
            .launch("philox", [1, 1, 1], [32, 1, 1], 0, &[&0u64, &0u64, &output])
            .expect("no fault");
        let words: Vec<u32> = device.download(output);
        assert_eq!(words[..4], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        let ones = u64::MAX;
        device
            .launch("philox", [1, 1, 1], [1, 1, 1], 0, &[&ones, &ones, &output])
            .expect("no fault");
        // With the index 0 in place of all ones in the counter's lower half, compare with Rust.
        let words: Vec<u32> = device.download(output);
        assert_eq!(words[..4], philox([0, 0, u32::MAX, u32::MAX], [u32::MAX, u32::MAX]));
    });
}

fn philox(mut counter: [u32; 4], mut key: [u32; 2]) -> [u32; 4] {
    for _ in 0..10 {
        let a = u64::from(counter[0]) * 0xd251_1f53;
        let b = u64::from(counter[2]) * 0xcd9e_8d57;
        counter = [
            (b >> 32) as u32 ^ counter[1] ^ key[0],
            b as u32,
            (a >> 32) as u32 ^ counter[3] ^ key[1],
            a as u32,
        ];
        key = [key[0].wrapping_add(0x9e37_79b9), key[1].wrapping_add(0xbb67_ae85)];
    }
    counter
}

#[test]
fn integers_of_128_bits_divide() {
    at_each_level(corpus!("elementwise"), |device| {
        let operands = [
            [1, 0, 3],
            [0, 100, 7],
            [u64::MAX, u64::MAX, 10],
            [5, 7, u64::MAX],
            [1 << 63, 1, 1 << 63 | 1],
        ];
        let flat: Vec<u64> = operands.iter().flatten().copied().collect();
        let (input, output) = (device.upload(&flat), device.allocate(operands.len() * 16));
        let count = operands.len() as i32;
        device
            .launch("wide_division", [1, 1, 1], [32, 1, 1], 0, &[&count, &input, &output])
            .expect("no fault");
        let result: Vec<u64> = device.download(output);
        for (quotient, [high, low, divisor]) in result.chunks(2).zip(operands) {
            let expected = (u128::from(high) << 64 | u128::from(low)) / u128::from(divisor);
            assert_eq!(u128::from(quotient[1]) << 64 | u128::from(quotient[0]), expected);
        }
    });
}
