//! Every kind of memory.

use super::{assert_close, integers, launch, on_each, run};
use crate::exec::harness::Device;

#[test]
fn constants_and_variables_are_initialised_and_kept() {
    on_each!("memory", |device| {
        let inputs: Vec<i32> = (0..32).collect();
        let place = device.upload(&inputs);
        let got: Vec<f64> = run(device, "constants", 32, &[&place], 32);
        for (at, got) in got.into_iter().enumerate() {
            let weight = if at % 16 < 8 { at % 16 + 1 } else { 0 };
            let table = [2, 6, 0, 0][at & 3] + [5, 6, 7, 8][at & 3];
            assert_close(got, (weight * 3 + table) as f64 + 0.5, 0.0, &at);
        }
        assert_eq!(run::<f64>(device, "read_total", 1, &[], 1), [7.5]);
    });
}

#[test]
fn hints_do_not_change_what_is_read_and_written() {
    on_each!("memory", |device| {
        let inputs: Vec<f32> = (0..32).map(|t| t as f32 * 1.5).collect();
        let place = device.upload(&inputs);
        let got: Vec<f32> = run(device, "hints", 32, &[&place], 8 * 32);
        for (&x, got) in inputs.iter().zip(got.chunks(8)) {
            assert_eq!(got, [x, x, x, x, x, x, x, x + 1.0]);
        }
        let (place, out) = (device.upload(&[3f32; 64]), device.allocate(4 * 128));
        launch(device, "prefetches", [1, 32], &[&place, &out]);
        let got: Vec<f32> = device.download(out);
        assert_eq!((&got[..32], &got[32..64]), (&[3.0; 32][..], &[6.0; 32][..]));
    });
}

#[test]
fn vectors_are_moved_whole() {
    on_each!("memory", |device| {
        let quads = integers(128, 30);
        let doubles: Vec<f64> = (0..64).map(f64::from).collect();
        let bytes: Vec<u8> = (0..128).collect();
        let shorts: Vec<u16> = (0..64).map(|at| at * 1000).collect();
        let places = (
            device.upload(&quads),
            device.upload(&doubles),
            device.upload(&bytes),
            device.upload(&shorts),
        );
        let outs = (
            device.allocate(512),
            device.allocate(512),
            device.allocate(128),
            device.allocate(128),
        );
        let arguments: [&dyn super::Argument; 8] =
            [&places.0, &outs.0, &places.1, &outs.1, &places.2, &outs.2, &places.3, &outs.3];
        launch(device, "vectors_in_memory", [1, 32], &arguments);
        let expected = |rows: &[usize], count: usize| {
            let width = rows.len();
            let rows = rows.to_vec();
            (0..count).map(move |at| at / width * width + rows[at % width]).collect::<Vec<_>>()
        };
        let got: Vec<i32> = device.download(outs.0);
        assert_eq!(
            got,
            expected(&[3, 2, 1, 0], 128).into_iter().map(|at| quads[at]).collect::<Vec<_>>()
        );
        let got: Vec<f64> = device.download(outs.1);
        assert_eq!(
            got,
            expected(&[1, 0], 64).into_iter().map(|at| doubles[at]).collect::<Vec<_>>()
        );
        let got: Vec<u8> = device.download(outs.2);
        assert_eq!(
            got,
            expected(&[3, 0, 1, 2], 128).into_iter().map(|at| bytes[at]).collect::<Vec<_>>()
        );
        let got: Vec<u16> = device.download(outs.3);
        for (got, own) in got.chunks(2).zip(shorts.chunks(2)) {
            assert_eq!(got, [own[1], own[0].wrapping_neg()]);
        }
    });
}

/// A `Small` of the kernel as its bytes.
fn small(tag: i8, number: i16, values: [f32; 5]) -> Vec<u8> {
    let mut bytes = vec![tag as u8, 0];
    bytes.extend(number.to_le_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

#[test]
fn structures_are_parameters_and_elements() {
    on_each!("memory", |device| {
        let element = |t: usize| (t as i8, t as i16 * 3, [t as f32; 5]);
        let all: Vec<u8> = (0..32).map(element).flat_map(|(a, b, c)| small(a, b, c)).collect();
        let place = device.upload(&all);
        let parameter = small(5, -2, [1.0, 2.0, 3.0, 4.0, 5.0]);
        let got: Vec<u8> = run(device, "structure", 32, &[&parameter, &place], all.len());
        for (t, got) in got.chunks(24).enumerate() {
            let (tag, number, values) = element(t);
            let values = std::array::from_fn(|i| values[i] + ((i + t) % 5 + 1) as f32);
            let mut expected = small(tag + 5, number * -2, values);
            // Padding is nobody's.
            expected[1] = got[1];
            assert_eq!(got, expected, "thread {t}");
        }
    });
}

#[test]
fn shared_memory_is_static_and_dynamic() {
    on_each!("memory", |device| {
        let inputs = (0..64).map(|t| t * 3).collect::<Vec<i32>>();
        let (place, out) = (device.upload(&inputs), device.allocate(256));
        let result =
            device.launch("shared_of_both_kinds", [1; 3], [64, 1, 1], 300, &[&place, &out]);
        result.expect("no fault");
        let expected: Vec<i32> =
            (0..64).map(|t: usize| inputs[63 - t] + inputs[t ^ 1] * 2 + 300 + 1).collect();
        assert_eq!(device.download::<i32>(out), expected);
    });
}

#[test]
fn pointers_know_their_spaces() {
    on_each!("memory", |device: &mut Device| {
        let (global, out) = (device.upload(&[100i32]), device.allocate(8 * 32));
        launch(device, "spaces", [1, 32], &[&global, &7i32, &out]);
        let got: Vec<u32> = device.download(out);
        for (t, got) in got.chunks(2).enumerate() {
            let bits: u32 = (0..3).map(|i| [1, 2, 4][(i + t) % 3] << (4 * i)).sum();
            let value = [100, 5, t as u32][t % 3] + 7 + 1;
            assert_eq!(got, [bits, value], "thread {t}");
        }
    });
}

#[test]
fn local_arrays_small_addresses_and_fences_work() {
    on_each!("memory", |device| {
        let inputs: Vec<i32> = (0..32).map(|at: i32| (at * 5 + 3) % 32 % at.max(1)).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "local_memory", 32, &[&place], 32);
        for (t, got) in got.into_iter().enumerate() {
            let mut stack = Vec::new();
            let mut at = t as i32;
            while at > 0 {
                stack.push(i64::from(at) * 3);
                at = inputs[at as usize];
            }
            let sum = stack.iter().rev().fold(0i64, |sum, &x| sum.wrapping_mul(7).wrapping_add(x));
            assert_eq!(got, sum as i32, "thread {t}");
        }
        let inputs = (0..32).map(|t| t * t).collect::<Vec<i32>>();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "small_addresses", 32, &[&place], 32);
        let rest = 16 + 25 * 2 + 36 * 3 + 49 * 4;
        assert_eq!(got, (0..32).map(|t: usize| inputs[t ^ 1] + rest).collect::<Vec<_>>());
        let data = device.allocate(128);
        let got: Vec<i32> = run(device, "fences", 32, &[&data], 32);
        assert_eq!(got, (0..32).map(|t| (t ^ 1) + 1).collect::<Vec<_>>());
    });
}
