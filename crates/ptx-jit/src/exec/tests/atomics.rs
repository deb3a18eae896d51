//! Atomic operations.

use std::sync::atomic::AtomicBool;

use half::f16;

use super::harness::{Argument, Device, DeviceSlice, at_each_level, corpus};

/// The memory that the kernel `counters` counts in: words, signed words, 64-bit words, and numbers of
/// 32, 64 and 16 bits.
fn counters(device: &mut Device) -> [DeviceSlice; 6] {
    [
        device.upload(&[0u32, 0, u32::MAX, u32::MAX, 0, 0, 0, 0, 0, 0, 0]),
        device.upload(&[i32::MIN, i32::MAX]),
        device.allocate(16),
        device.allocate(4),
        device.allocate(8),
        device.allocate(8),
    ]
}

#[test]
fn every_operation_counts_every_thread() {
    at_each_level(corpus!("atomics"), |device| {
        let counters = counters(device);
        let arguments = counters.each_ref().map(|counter| counter as &dyn Argument);
        device.launch("counters", [2, 1, 1], [64, 1, 1], 0, &arguments).expect("no fault");
        let [words, signed, wide, single, double, halves] = counters;
        let words: Vec<u32> = device.download(words);
        let xor = (0..128).fold(0, |all, thread| all ^ thread);
        // Counting down from 0 with the limit 9 goes through ten values.
        assert_eq!(words, [128, 127, 0, 0, u32::MAX, xor, 8, 2, 5, 127 * 128 / 2, 128]);
        assert_eq!(device.download::<i32>(signed), [0, -127]);
        assert_eq!(device.download::<u64>(wide), [128 << 32, 127 << 40]);
        assert_eq!(device.download::<f32>(single), [64.0]);
        assert_eq!(device.download::<f64>(double), [32.0]);
        let halves = device.download::<u16>(halves);
        let halves: Vec<f32> =
            halves.into_iter().map(|bits| f16::from_bits(bits).to_f32()).collect();
        assert_eq!(halves, [128.0, 0.0, 128.0, 256.0]);
    });
}

#[test]
fn a_loop_around_compare_and_swap_loses_nothing() {
    at_each_level(corpus!("atomics"), |device| {
        let (place, factors) = (device.upload(&[1f64]), device.upload(&[2f64; 40]));
        device
            .launch("cas_product", [1, 1, 1], [40, 1, 1], 0, &[&place, &factors])
            .expect("no fault");
        assert_eq!(device.download::<f64>(place), [2f64.powi(40)]);
    });
}

#[test]
fn shared_counters_make_a_histogram() {
    at_each_level(corpus!("atomics"), |device| {
        let values: Vec<u8> = (0..5000u32).map(|value| (value * value % 251) as u8).collect();
        let (input, output) = (device.upload(&values), device.allocate(1024));
        device
            .launch("histogram", [3, 1, 1], [256, 1, 1], 0, &[&5000i32, &input, &output])
            .expect("no fault");
        let mut expected = [0u32; 256];
        values.iter().for_each(|&value| expected[usize::from(value)] += 1);
        assert_eq!(device.download::<u32>(output), expected);
    });
}

#[test]
fn a_generic_pointer_reaches_global_and_shared_memory() {
    at_each_level(corpus!("atomics"), |device| {
        let output = device.allocate(8);
        device
            .launch("generic_pointer", [1, 1, 1], [64, 1, 1], 0, &[&output, &0i32])
            .expect("no fault");
        device
            .launch("generic_pointer", [1, 1, 1], [64, 1, 1], 0, &[&output, &1i32])
            .expect("no fault");
        assert_eq!(device.download::<i32>(output), [2016, 2016]);
    });
}

#[test]
fn blocks_on_several_host_threads_share_memory() {
    at_each_level(corpus!("atomics"), |device| {
        let counters = counters(device);
        let shared = &*device;
        let counters @ [words, _, _, single, double, _] = counters;
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(move || {
                    let arguments = counters.each_ref().map(|counter| counter as &dyn Argument);
                    shared.launch_until(
                        &AtomicBool::new(false),
                        "counters",
                        ([8, 1, 1], [64, 1, 1]),
                        0,
                        &arguments,
                    )
                });
            }
        });
        assert_eq!(device.download::<u32>(words)[0], 2048);
        assert_eq!(device.download::<f32>(single), [1024.0]);
        assert_eq!(device.download::<f64>(double), [512.0]);
    });
}
