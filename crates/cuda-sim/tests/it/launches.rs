//! Launches.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{CUfunction, CUresult, CUstream};

use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, download, function, in_child, launch,
    upload,
};
use crate::{cuda, fails, ok};

fn shaped(function: CUfunction, grid: [u32; 3], block: [u32; 3], shared: u32) -> CUresult {
    let ([x, y, z], [a, b, c]) = (grid, block);
    let none = ptr::null_mut();
    cuda!(cuLaunchKernel(function, x, y, z, a, b, c, shared, DEFAULT, none, none))
}

#[test]
fn every_thread_of_every_block_runs_once() {
    let gpu = Gpu::take();
    let blocks = function(gpu.load(KERNELS), c"blocks");
    let out = gpu.allocate(4 * 1000 * 64);
    ok!(cuMemsetD8_v2(out, 0xff, 4 * 1000 * 64));
    launch(blocks, [1000, 64], DEFAULT, &[out]).ok().expect("it is enqueued");
    let numbers = download::<u32, { 1000 * 64 }>(out);
    assert!(numbers.iter().enumerate().all(|(thread, &block)| block as usize == thread / 64));
}

#[test]
fn launches_in_a_stream_come_one_after_the_other() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(8);
    ok!(cuMemsetD8Async(pointer, 0, 8, stream));
    for _ in 0..2000 {
        launch(increment, [1, 1], stream, &[pointer]).ok().expect("it is enqueued");
    }
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [2000_u64]);
}

#[test]
fn a_launch_returns_before_it_runs_and_takes_its_arguments_along() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let stream = gpu.stream(NON_BLOCKING);
    let pointer = gpu.allocate(8);
    ok!(cuMemsetD8_v2(pointer, 0, 8));
    ok!(cuCtxSynchronize());
    let gate = Gate::close(stream);
    launch(store, [1, 1], stream, &[pointer, 77]).ok().expect("it is enqueued");
    assert_holds(pointer, [0_u64]);
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [77_u64]);
}

#[test]
fn arguments_of_all_sizes_may_come_one_by_one_or_packed() {
    let gpu = Gpu::take();
    let function = function(gpu.load(KERNELS), c"parameters");
    let out = gpu.allocate(4);
    let (mut a, mut pointer, mut b, mut c) = (200_u8, out, 40_000_u16, 1_000_000_u32);
    let mut pointers: [*mut c_void; 4] = [
        ptr::from_mut(&mut a).cast(),
        ptr::from_mut(&mut pointer).cast(),
        ptr::from_mut(&mut b).cast(),
        ptr::from_mut(&mut c).cast(),
    ];
    let none = ptr::null_mut();
    let list = pointers.as_mut_ptr();
    ok!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, DEFAULT, list, none));
    assert_holds(out, [1_040_200_u32]);
    let mut packed = [0_u8; 24];
    packed[0] = 1;
    packed[8..16].copy_from_slice(&out.to_le_bytes());
    packed[16..18].copy_from_slice(&2_u16.to_le_bytes());
    packed[20..24].copy_from_slice(&3_u32.to_le_bytes());
    let mut size = packed.len();
    let key = ptr::without_provenance_mut::<c_void>;
    let mut extra =
        [key(1), packed.as_mut_ptr().cast(), key(2), ptr::from_mut(&mut size).cast(), key(0)];
    let list = extra.as_mut_ptr();
    ok!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, DEFAULT, none, list));
    assert_holds(out, [6_u32]);
    size = 23;
    let short = cuda!(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, DEFAULT, none, list));
    assert_eq!((short, size), (CUresult::CUDA_ERROR_INVALID_VALUE, 23));
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, DEFAULT, none, none)
    );
}

#[test]
fn shapes_that_the_device_cannot_run_are_errors() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    for (grid, block, shared) in [
        ([0, 1, 1], [1, 1, 1], 0),
        ([1, 65536, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [1, 1, 65], 0),
        ([1, 1, 1], [32, 32, 2], 0),
        ([1, 1, 1], [1, 1, 1], (48 << 10) + 1),
    ] {
        let result = shaped(nothing, grid, block, shared);
        assert_eq!(result, CUresult::CUDA_ERROR_INVALID_VALUE, "{grid:?} {block:?} {shared}");
    }
    assert_eq!(shaped(nothing, [3, 2, 2], [8, 8, 8], 48 << 10), CUresult::CUDA_SUCCESS);
    ok!(cuCtxSynchronize());
}

#[test]
fn function_and_stream_must_be_of_one_context() {
    let [one, two] = Gpu::take_several();
    let store = function(one.load(KERNELS), c"store");
    let pointer = one.allocate(8);
    let stream = two.stream(0);
    let invalid = CUresult::CUDA_ERROR_INVALID_HANDLE;
    assert_eq!(launch(store, [1, 1], stream, &[pointer, 1]), invalid);
    // The default stream is the current context's.
    assert_eq!(launch(store, [1, 1], DEFAULT, &[pointer, 1]), invalid);
    let wild: CUstream = ptr::without_provenance_mut(0xdead_beef_0000);
    assert_eq!(launch(store, [1, 1], wild, &[pointer, 1]), invalid);
    let wild: CUfunction = ptr::without_provenance_mut(0xdead_beef_0000);
    assert_eq!(launch(wild, [1, 1], DEFAULT, &[]), invalid);
}

#[test]
fn kernels_reach_page_locked_host_memory() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let mut host = ptr::null_mut();
    ok!(cuMemHostAlloc(&mut host, 8, 0));
    launch(store, [1, 1], DEFAULT, &[host.addr() as u64, 3]).ok().expect("it is enqueued");
    ok!(cuCtxSynchronize());
    // SAFETY: it was allocated, and the kernel is done.
    assert_eq!(unsafe { host.cast::<u64>().read() }, 3);
    ok!(cuMemFreeHost(host));
}

#[test]
fn two_streams_make_progress_at_the_same_time_as_a_long_kernel() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let (countdown, store) = (function(module, c"countdown"), function(module, c"store"));
    let (busy, free) = (gpu.stream(NON_BLOCKING), gpu.stream(NON_BLOCKING));
    let (counter, value) = (gpu.allocate(8), gpu.allocate(8));
    ok!(cuMemsetD8_v2(counter, 0, 8));
    ok!(cuMemsetD8_v2(counter + 2, 1, 1));
    // Non-blocking streams do not wait for the default one.
    ok!(cuCtxSynchronize());
    launch(countdown, [1, 1], busy, &[counter]).ok().expect("it is enqueued");
    launch(store, [1, 1], free, &[value, 9]).ok().expect("it is enqueued");
    ok!(cuStreamSynchronize(free));
    assert_holds(value, [9_u64]);
    ok!(cuStreamSynchronize(busy));
    assert_holds(counter, [0_u64]);
}

#[test]
fn kernels_that_wait_for_another_stream_leave_it_a_worker_however_many_they_are() {
    let gpu = Gpu::take();
    let module = gpu.load(KERNELS);
    let (awaits, announce) = (function(module, c"await"), function(module, c"announce"));
    let memory = gpu.allocate(8 * 9);
    upload(memory, &[0_u64; 9]);
    // More than there are workers.
    let streams = [(); 8].map(|()| gpu.stream(NON_BLOCKING));
    for (index, &stream) in streams.iter().enumerate() {
        let out = memory + 8 * (index as u64 + 1);
        launch(awaits, [1, 1], stream, &[memory, out]).ok().expect("it is enqueued");
    }
    let other = gpu.stream(NON_BLOCKING);
    launch(announce, [1, 1], other, &[memory, 7]).ok().expect("it is enqueued");
    ok!(cuStreamSynchronize(other));
    ok!(cuCtxSynchronize());
    assert_holds(memory, [7_u64; 9]);
}

/// Both ways of a branch lead to one place, on a value that went through registers of two types: so
/// compilers write the end of `nextafter` and `pow`.
const ONE_TARGET: &str = ".version 8.0
.target sm_75
.address_size 64
.visible .entry one_target(.param .u64 out, .param .u64 sign) {
    .reg .pred %p;
    .reg .f32 %x, %y;
    .reg .b32 %tid, %sign, %bits;
    .reg .b64 %out, %at;
    ld.param.u64 %out, [out];
    ld.param.u32 %sign, [sign];
    mov.u32 %tid, %tid.x;
    mul.wide.u32 %at, %tid, 4;
    add.u64 %at, %at, %out;
    ld.global.f32 %x, [%at];
    bra.uni forth;
back:
    st.global.f32 [%at], %y;
    ret;
forth:
    mov.b32 %bits, %x;
    or.b32 %bits, %bits, %sign;
    mov.b32 %y, %bits;
    setp.eq.f32 %p, %y, 0f00000000;
    @%p bra back;
    bra.uni back;
}
\0";

#[test]
fn both_ways_of_a_branch_may_be_one() {
    for mode in ["lockstep", "threads"] {
        in_child(&[("CUDA_SIM_EXECUTION", mode)], || {
            let gpu = Gpu::take();
            let one_target = function(gpu.load(ONE_TARGET), c"one_target");
            let out = gpu.allocate(64 * 4);
            let values: [f32; 64] = std::array::from_fn(|at| (at % 3) as f32);
            upload(out, &values);
            launch(one_target, [1, 64], DEFAULT, &[out, 1 << 31]).ok().expect("it is enqueued");
            assert_holds(out, values.map(|value| -value));
        });
    }
}
