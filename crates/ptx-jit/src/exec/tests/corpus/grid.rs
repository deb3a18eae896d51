//! Blocks and grids.

use super::{launch, numbers, on_each, run};

#[test]
fn the_blocks_of_a_cooperative_launch_wait_for_each_other() {
    on_each!("grid", |device| {
        device.workspace = Some(device.allocate(256));
        let (blocks, threads) = (4, 32);
        let count = blocks * threads;
        let (cells, out) = (device.allocate(4 * count), device.allocate(4 * count));
        launch(device, "grid_sync", [blocks as u32, threads as u32], &[&cells, &out]);
        let doubled: Vec<i32> =
            (0..count).map(|rank| 2 * ((rank + threads) % count + 1) as i32).collect();
        let expected: Vec<i32> =
            (0..count).map(|rank| doubled[(rank + 1) % count] + 1000).collect();
        assert_eq!(device.download::<i32>(out), expected);
    });
}

#[test]
fn a_grid_that_is_not_cooperative_has_no_barrier() {
    on_each!("grid", |device| {
        let (cells, out) = (device.allocate(512), device.allocate(512));
        let result = device.launch("grid_sync", [4, 1, 1], [32, 1, 1], 0, &[&cells, &out]);
        assert!(result.is_err(), "it has no workspace");
    });
}

#[test]
fn barriers_count_and_have_numbers() {
    on_each!("grid", |device| {
        let inputs: Vec<i32> = (0..64).map(|t| t * 5 % 47).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "barriers", 64, &[&place], 4 * 64);
        let odd = inputs.iter().filter(|&&v| v & 1 != 0).count() as i32;
        for (t, got) in got.chunks(4).enumerate() {
            let handed = if t < 32 { inputs[t] + 1 } else { inputs[t] };
            assert_eq!(got, [odd, 1, 1, handed], "thread {t}");
        }
    });
}

#[test]
fn loops_are_unrolled_or_not() {
    on_each!("grid", |device| {
        let inputs: Vec<f32> = numbers(23, 8).into_iter().map(|x| x as f32).collect();
        let (place, out) = (device.upload(&inputs), device.allocate(32 * 4));
        launch(device, "unrolled", [1, 32], &[&place, &out, &23i32]);
        let mut sum: f32 = inputs.iter().fold(0.0, |sum, x| sum + x);
        sum = inputs.iter().fold(sum, |sum, &x| sum.mul_add(0.5, x));
        let expected: Vec<f32> = (1..=32).map(|t| sum * t as f32).collect();
        assert_eq!(device.download::<f32>(out), expected);
    });
}

#[test]
fn clocks_go_on() {
    on_each!("grid", |device| {
        let got: Vec<u32> = run(device, "clocks", 32, &[], 32);
        assert!(got.iter().all(|&bits| bits == 31), "{got:?}");
    });
}

#[test]
fn a_block_is_a_cluster_of_its_own() {
    on_each!("grid", |device| {
        let got: Vec<u32> = run(device, "clusters", 64, &[], 6 * 64);
        got.chunks(6).for_each(|got| assert_eq!(got, [0, 1, 0, 1, 0, 0]));
        let inputs: Vec<i32> = (0..32).collect();
        let place = device.upload(&inputs);
        assert_eq!(run::<i32>(device, "dependent", 32, &[&place], 32), inputs);
    });
}

#[test]
fn threads_have_three_axes() {
    on_each!("grid", |device| {
        let out = device.allocate(4 * 24 * 24);
        let result = device.launch("three_axes", [2, 3, 4], [4, 3, 2], 0, &[&out]);
        result.expect("no fault");
        let expected: Vec<u32> =
            (0..24).flat_map(|block| (0..24).map(move |thread| block * 1000 + thread)).collect();
        assert_eq!(device.download::<u32>(out), expected);
    });
}

#[test]
fn the_last_block_adds_up() {
    on_each!("grid", |device| {
        let inputs: Vec<f32> = (0..3000).map(|at| (at % 17) as f32).collect();
        let (place, partial) = (device.upload(&inputs), device.allocate(5 * 4));
        let (done, out) = (device.allocate(4), device.allocate(4));
        launch(device, "last_block", [5, 128], &[&place, &3000i32, &partial, &done, &out]);
        assert_eq!(device.download::<f32>(out), [inputs.iter().sum::<f32>()]);
    });
}
