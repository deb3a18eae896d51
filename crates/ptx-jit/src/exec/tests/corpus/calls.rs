//! Functions of all kinds.

use super::{launch, on_each, run};
use crate::exec::FaultKind;

#[test]
fn functions_are_called_through_pointers() {
    on_each!("calls", |device| {
        let inputs: Vec<i32> = (0..64).map(|t| t * t % 11).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "through_pointers", 64, &[&place], 64);
        for (t, (&v, got)) in inputs.iter().zip(got).enumerate() {
            let first = if v & 1 != 0 { t as i32 + 3 } else { t as i32 * 3 };
            let expected = match v % 3 {
                0 => first + 5,
                1 => first - 5,
                _ => first * 5,
            };
            assert_eq!(got, expected, "thread {t}");
        }
    });
}

#[test]
fn virtual_functions_are_those_of_the_object() {
    on_each!("calls", |device| {
        let inputs: Vec<i32> = (0..32).map(|t| t / 3).collect();
        let place = device.upload(&inputs);
        let got: Vec<f32> = run(device, "virtual_functions", 32, &[&place], 32);
        for (t, (&v, got)) in inputs.iter().zip(got).enumerate() {
            let t = t as f32;
            let expected =
                if v & 1 != 0 { (t + 2.0) * (t + 2.0) } else { 3.0 * (t * 2.0) * (t * 2.0) };
            assert_eq!(got, expected, "thread {t}");
        }
    });
}

#[test]
fn functions_behind_pointers_may_wait() {
    on_each!("calls", |device| {
        let mut inputs: Vec<i32> = (0..64).map(|t| t * 7 % 64).collect();
        inputs[..4].copy_from_slice(&[0, 1, 1, 0]);
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "waiting_through_pointers", 64, &[&place], 64);
        let expected: Vec<i32> = (0..64).map(|t| 4 * inputs[(t + 2) % 64]).collect();
        assert_eq!(got, expected);
    });
}

#[test]
fn recursion_goes_deep_and_large_values_travel() {
    on_each!("calls", |device| {
        let got: Vec<u32> = run(device, "deep", 12, &[], 12);
        assert_eq!(got, (0..12).map(|n| 2 * n + 3).collect::<Vec<_>>());
        let got: Vec<i64> = run(device, "large_values", 32, &[], 9 * 32);
        let rotated = |values: [i64; 9], by: usize| {
            std::array::from_fn::<i64, 9, _>(|i| values[(i + by) % 9] + i as i64)
        };
        for (t, got) in got.chunks(9).enumerate() {
            let start = std::array::from_fn(|i| i as i64 * 10 + t as i64);
            assert_eq!(got, rotated(rotated(start, 2), t), "thread {t}");
        }
    });
}

#[test]
fn the_driver_prints_and_asserts() {
    on_each!("calls", |device| {
        launch(device, "prints", [1, 2], &[&-3i32]);
        assert_eq!(device.printed(), "-3 text  1.50 z 1099511627776 ff\n");
        launch(device, "asserts", [1, 32], &[&32i32]);
        let result = device.launch("asserts", [1; 3], [32, 1, 1], 0, &[&7i32]);
        match result.expect_err("thread 7 fails").kind {
            FaultKind::Assert(assertion) => {
                assert_eq!(assertion.message, "n > (int)threadIdx.x");
                assert_eq!(
                    (assertion.file.as_str(), assertion.function.as_str()),
                    ("calls.cu", "void asserts(int)")
                );
            }
            other => panic!("{other}"),
        }
        launch(device, "traps", [1, 32], &[&32i32]);
        let fault = device.launch("traps", [1; 3], [32, 1, 1], 0, &[&5i32]).expect_err("a trap");
        assert_eq!((fault.kind, fault.thread), (FaultKind::Trap, [5, 0, 0]));
    });
}

#[test]
fn memory_is_taken_from_the_stack() {
    on_each!("calls", |device| {
        let inputs: Vec<i32> = (0..32).map(|t| t * 37 % 100).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "stack_memory", 32, &[&place], 32);
        for (t, (&n, got)) in inputs.iter().zip(got).enumerate() {
            let expected: i32 = (0..n).rev().step_by(2).map(|i| i * i + t as i32).sum();
            assert_eq!(got, expected, "thread {t}");
        }
        for size in [i32::MAX, -1, 5000] {
            let place = device.upload(&[size; 32]);
            let out = device.allocate(128);
            let result = device.launch("stack_memory", [1; 3], [32, 1, 1], 0, &[&place, &out]);
            assert_eq!(result.expect_err("too much").kind, FaultKind::Trap, "{size}");
        }
    });
}

#[test]
fn memory_is_taken_from_the_heap_and_kept_between_launches() {
    on_each!("calls", |device| {
        let kept = device.allocate(32 * 8);
        let got: Vec<i32> = run(device, "heap_list", 32, &[&kept], 32);
        assert_eq!(got, [1; 32]);
        let got: Vec<i32> = run(device, "heap_return", 32, &[&kept], 32);
        let sum = |t: i32| (0..5).rev().fold(0, |sum, i| sum * 3 + i * (t + 1));
        assert_eq!(got, (0..32).map(sum).collect::<Vec<_>>());
        // They are given back already.
        let out = device.allocate(128);
        let result = device.launch("heap_return", [1; 3], [32, 1, 1], 0, &[&kept, &out]);
        assert!(matches!(result.expect_err("twice").kind, FaultKind::IllegalAddress { .. }));
    });
}
