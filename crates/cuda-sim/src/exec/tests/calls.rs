//! Calls of functions, and memory of threads.

use super::harness::{at_each_level, corpus};
use crate::exec::FaultKind;

#[test]
fn structures_are_passed_and_returned_by_value() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(32 * 4);
        device.launch("by_value", [1, 1, 1], [32, 1, 1], 0, &[&output]).expect("no fault");
        let expected: Vec<i32> =
            (0..32).map(|t| (2 * t + 2) * 10000 + (t + 1) * 100 + 7 + 9).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn threads_wait_inside_functions() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(64 * 4);
        device
            .launch("barrier_in_function", [1, 1, 1], [64, 1, 1], 0, &[&output])
            .expect("no fault");
        let expected: Vec<i32> = (0..64).map(|t| (t + 9) % 64 + 3).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn functions_call_themselves() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.allocate(16 * 4);
        device.launch("recursive", [1, 1, 1], [16, 1, 1], 0, &[&output]).expect("no fault");
        assert_eq!(device.download::<u32>(output)[10..], [55, 89, 144, 233, 377, 610]);
    });
}

#[test]
fn endless_recursion_is_a_fault() {
    at_each_level(corpus!("calls"), |device| {
        let output = device.upload(&[1u32, 1, 0]);
        let fault =
            device.launch("overflow", [1; 3], [1; 3], 0, &[&output]).expect_err("it never returns");
        assert!(matches!(fault.kind, FaultKind::StackOverflow { .. }), "{fault}");
    });
}

#[test]
fn switches_take_every_way() {
    at_each_level(corpus!("calls"), |device| {
        let input = device.upload(&(0..10).collect::<Vec<i32>>());
        let output = device.upload(&[0i32; 48]);
        device.launch("switches", [1; 3], [10, 1, 1], 0, &[&input, &output]).expect("no fault");
        let result = device.download::<i32>(output);
        assert_eq!(result[..10], [5, 8, 8, -3, 17, 5 ^ 0x55, 18, 128, 8, 9]);
        assert_eq!(result[40..42], [1, 2]);
    });
}

#[test]
fn local_arrays_are_indexed_at_run_time() {
    at_each_level(corpus!("calls"), |device| {
        let values: Vec<i32> = (0..16).map(|at| at * 5 + 3).collect();
        let (input, output) = (device.upload(&values), device.allocate(32 * 4));
        device.launch("local_array", [1; 3], [32, 1, 1], 0, &[&input, &output]).expect("no fault");
        for (thread, got) in device.download::<i32>(output).into_iter().enumerate() {
            let at = values[thread & 15] as usize & 15;
            let mut own: Vec<i32> =
                values.iter().map(|value| value * (thread as i32 + 1)).collect();
            own[at] += 1000;
            let expected: i32 = (0..16).map(|i| own[(i + at) & 15] * (i as i32 + 1)).sum();
            assert_eq!(got, expected);
        }
    });
}
