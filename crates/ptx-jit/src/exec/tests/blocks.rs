//! Shared memory and barriers.

use super::harness::{at_each_level, corpus};

#[test]
fn a_tree_of_barriers_sums_a_block() {
    at_each_level(corpus!("reduce"), |device| {
        let values: Vec<f32> = (0..1024).map(|value| (value % 37) as f32).collect();
        let (input, output) = (device.upload(&values), device.allocate(16));
        device
            .launch("block_sum", [4, 1, 1], [256, 1, 1], 1024, &[&input, &output])
            .expect("no fault");
        let sums: Vec<f32> = device.download(output);
        let expected: Vec<f32> = values.chunks(256).map(|chunk| chunk.iter().sum()).collect();
        assert_eq!(sums, expected);
    });
}

#[test]
fn warps_sum_by_shuffles_and_add_atomically() {
    at_each_level(corpus!("reduce"), |device| {
        let values: Vec<f32> = (0..512).map(|value| (value % 11) as f32).collect();
        let (input, output) = (device.upload(&values), device.allocate(4));
        device.launch("warp_sum", [4, 1, 1], [128, 1, 1], 0, &[&input, &output]).expect("no fault");
        assert_eq!(device.download::<f32>(output), [values.iter().sum::<f32>()]);
    });
}

#[test]
fn a_tiled_product_of_matrices_is_right_at_the_edges() {
    at_each_level(corpus!("reduce"), |device| {
        let n = 37;
        let a: Vec<f32> = (0..n * n).map(|at| (at % 7) as f32 - 3.0).collect();
        let b: Vec<f32> = (0..n * n).map(|at| (at % 5) as f32 - 2.0).collect();
        let (left, right) = (device.upload(&a), device.upload(&b));
        let output = device.allocate(n * n * 4);
        device
            .launch("matmul", [3, 3, 1], [16, 16, 1], 0, &[&(n as i32), &left, &right, &output])
            .expect("no fault");
        let result: Vec<f32> = device.download(output);
        for (at, &got) in result.iter().enumerate() {
            let (row, column) = (at / n, at % n);
            let expected: f32 = (0..n).map(|k| a[row * n + k] * b[k * n + column]).sum();
            assert_eq!(got, expected);
        }
    });
}

#[test]
fn barriers_reduce_predicates() {
    at_each_level(corpus!("reduce"), |device| {
        let values: Vec<i32> = (0..96).map(|value| value % 4).collect();
        let (input, output) = (device.upload(&values), device.allocate(96 * 4));
        device
            .launch("barrier_reductions", [1, 1, 1], [96, 1, 1], 0, &[&input, &output])
            .expect("no fault");
        assert_eq!(device.download::<i32>(output), [72 * 4 + 1; 96]);
    });
}

#[test]
fn threads_that_have_ended_count_as_arrived() {
    at_each_level(corpus!("reduce"), |device| {
        let output = device.allocate(32 * 4);
        device.launch("early_exit", [1, 1, 1], [128, 1, 1], 0, &[&output]).expect("no fault");
        assert_eq!(device.download::<i32>(output), [42; 32]);
    });
}

#[test]
fn named_barriers_join_two_warps() {
    at_each_level(corpus!("reduce"), |device| {
        let output = device.allocate(32 * 4);
        device.launch("named_barriers", [1, 1, 1], [64, 1, 1], 0, &[&output]).expect("no fault");
        let expected: Vec<i32> = (0..32).map(|lane| 600 + 4 * (31 - lane)).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn a_warp_that_waits_goes_on_after_another_one_has_parted() {
    let source = ".version 7.0 .target sm_75 .address_size 64
        .visible .entry k(.param .u64 out) {
        .reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<3>;
        mov.u32 %r0, %tid.x; setp.lt.u32 %p, %r0, 40; @%p bra MEET;
        bar.warp.sync 0xffffff00;
        MEET: bar.sync 0;
        ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd2, %rd0, %rd1;
        add.u32 %r1, %r0, 1; st.global.u32 [%rd2], %r1; ret; }";
    at_each_level(source, |device| {
        let output = device.allocate(64 * 4);
        device.launch("k", [1; 3], [64, 1, 1], 0, &[&output]).expect("no fault");
        assert_eq!(device.download::<u32>(output), (1..=64).collect::<Vec<u32>>());
    });
}
