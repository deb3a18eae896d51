//! Copies and fills, in all directions.

use std::ffi::c_void;
use std::ptr;
use std::sync::mpsc::channel;

use cuda_sys::{CUmemcpyAttributes, CUmemcpySrcAccessOrder as Order};

use crate::sim::{DEFAULT, Gate, Gpu, NON_BLOCKING, assert_holds, enqueue, upload};
use crate::{cuda, fails, ok};

#[test]
fn bytes_go_to_the_device_and_between_buffers_and_back() {
    let gpu = Gpu::take();
    // More than one piece of work, and no multiple of one.
    let values: Vec<u32> = (0..700_001).collect();
    let bytes = size_of_val(values.as_slice());
    let (one, two) = (gpu.allocate(bytes), gpu.allocate(bytes));
    upload(one, &values);
    ok!(cuMemcpyDtoD_v2(two, one, bytes));
    let mut back = vec![0_u32; values.len()];
    ok!(cuMemcpyDtoH_v2(back.as_mut_ptr().cast(), two, bytes));
    assert_eq!(back, values);
}

#[test]
fn unified_addressing_finds_the_direction() {
    let gpu = Gpu::take();
    let device = gpu.allocate(8);
    let (source, mut middle, mut end) = ([3_u32, 4], [0_u32; 2], [0_u32; 2]);
    let address = |array: *const u32| array.expose_provenance() as u64;
    ok!(cuMemcpy(device, address(source.as_ptr()), 8));
    ok!(cuMemcpy(address(middle.as_mut_ptr()), device, 8));
    ok!(cuMemcpyAsync(address(end.as_mut_ptr()), address(middle.as_ptr()), 8, DEFAULT));
    assert_eq!((middle, end), (source, source));
}

#[test]
fn fills_repeat_their_value() {
    let gpu = Gpu::take();
    let count = 700_001;
    let pointer = gpu.allocate(4 * count);
    ok!(cuMemsetD32_v2(pointer, 0x0102_0304, count));
    assert_holds(pointer + 4 * (count as u64 - 1), [0x0102_0304_u32]);
    ok!(cuMemsetD16_v2(pointer + 2, 0x0506, 2));
    ok!(cuMemsetD8_v2(pointer, 7, 1));
    assert_holds(pointer, [7_u8, 3, 6, 5, 6, 5, 2, 1]);
}

#[test]
fn an_asynchronous_copy_from_pageable_memory_leaves_it_to_the_program_at_once() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let device = gpu.allocate(16);
    let mut source = [1_u32, 2, 3, 4];
    let gate = Gate::close(stream);
    ok!(cuMemcpyHtoDAsync_v2(device, source.as_ptr().cast(), 16, stream));
    source.fill(0);
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(stream));
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(device, [1_u32, 2, 3, 4]);
    assert_eq!(source, [0; 4]);
}

#[test]
fn a_copy_to_pageable_memory_is_done_when_the_call_returns() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let device = gpu.allocate(4);
    ok!(cuMemsetD32Async(device, 5, 1, stream));
    let mut value = 0_u32;
    ok!(cuMemcpyDtoHAsync_v2(ptr::from_mut(&mut value).cast(), device, 4, stream));
    assert_eq!(value, 5);
}

#[test]
fn a_copy_between_buffers_of_the_device_does_not_wait() {
    let gpu = Gpu::take();
    let (one, two) = (gpu.allocate(4), gpu.allocate(4));
    upload(one, &[8_u32]);
    let gate = Gate::close(DEFAULT);
    ok!(cuMemcpyDtoD_v2(two, one, 4));
    ok!(cuMemsetD32_v2(one, 9, 1));
    gate.open();
    assert_holds(two, [8_u32]);
    assert_holds(one, [9_u32]);
}

#[test]
fn freeing_memory_waits_for_the_copies_that_use_it() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let (one, two) = (gpu.allocate(4), gpu.allocate(4));
    upload(one, &[8_u32]);
    let (begun, has_begun) = channel();
    let gate = Gate::close(stream);
    ok!(cuMemcpyDtoDAsync_v2(two, one, 4, stream));
    gate.wait_until_reached();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            gpu.enter();
            begun.send(()).expect("somebody listens");
            ok!(cuMemFree_v2(one));
        });
        has_begun.recv().expect("it begins");
        gate.open();
    });
    assert_holds(two, [8_u32]);
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(one));
}

#[test]
fn both_ends_must_be_allocated_and_large_enough() {
    let [one, two] = Gpu::take_several();
    let on_two = two.allocate(16);
    let pointer = one.allocate(16);
    let mut host = [0_u8; 64];
    let host: *mut c_void = host.as_mut_ptr().cast();
    for (to, bytes) in [
        (0, 1),
        (pointer, 17),
        (pointer + 16, 1),
        (pointer, usize::MAX),
        (u64::MAX, 2),
        (host.addr() as u64, 1),
    ] {
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(to, host, bytes));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2(host, to, bytes));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD_v2(to, pointer, bytes));
        fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD8Async(to, 0, bytes, DEFAULT));
    }
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2(pointer, ptr::null(), 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(pointer + 2, 0, 1));
    fails!(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2(pointer, 0, usize::MAX));
    fails!(
        CUDA_ERROR_INVALID_VALUE,
        cuMemcpyPeerAsync(pointer, one.context, on_two, one.context, 16, DEFAULT)
    );
    fails!(
        CUDA_ERROR_INVALID_CONTEXT,
        cuMemcpyPeerAsync(pointer, one.context, on_two, ptr::null_mut(), 16, DEFAULT)
    );
    ok!(cuMemcpyHtoD_v2(0, ptr::null(), 0));
    ok!(cuMemsetD8_v2(pointer, 0, 0));
}

#[test]
fn copies_between_devices_wait_for_what_their_stream_waits_for() {
    let [one, two] = Gpu::take_several();
    let from = one.allocate(8);
    let to = two.allocate(8);
    let producer = one.stream(NON_BLOCKING);
    let consumer = two.stream(NON_BLOCKING);
    let gate = Gate::close(producer);
    ok!(cuMemsetD32Async(from, 6, 2, producer));
    let done = one.event(0);
    ok!(cuEventRecord(done, producer));
    ok!(cuStreamWaitEvent(consumer, done, 0));
    ok!(cuMemcpyPeerAsync(to, two.context, from, one.context, 8, consumer));
    let (tell, told) = channel();
    enqueue(consumer, move || tell.send(()).expect("somebody listens"));
    assert!(told.try_recv().is_err());
    assert_eq!(cuda!(cuStreamQuery(consumer)), cuda_sys::CUresult::CUDA_ERROR_NOT_READY);
    gate.open();
    told.recv().expect("the copy is done");
    two.enter();
    assert_holds(to, [6_u32, 6]);
}

#[test]
fn a_batch_is_copied_in_the_streams_order() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let (one, two) = (gpu.allocate(8), gpu.allocate(8));
    upload(one, &[5_u32, 6]);
    let mut ephemeral = 7_u32;
    let attributes = |order| CUmemcpyAttributes {
        srcAccessOrder: order,
        srcLocHint: crate::virtual_memory::on_device(0),
        dstLocHint: crate::virtual_memory::on_device(0),
        flags: 0,
    };
    let mut attributes = [
        attributes(Order::CU_MEMCPY_SRC_ACCESS_ORDER_STREAM),
        attributes(Order::CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL),
    ];
    let address = ptr::from_mut(&mut ephemeral).expose_provenance() as u64;
    let (mut to, mut from, mut sizes) = ([two, two + 4], [one + 4, address], [4, 4]);
    let gate = Gate::close(stream);
    let mut batch = |count, firsts: &mut [usize], stream| {
        cuda!(cuMemcpyBatchAsync_v2(
            to.as_mut_ptr(),
            from.as_mut_ptr(),
            sizes.as_mut_ptr(),
            count,
            attributes.as_mut_ptr(),
            firsts.as_mut_ptr(),
            firsts.len(),
            stream
        ))
    };
    batch(2, &mut [0, 1], stream).ok().expect("it is enqueued");
    ephemeral = 0;
    let invalid = cuda_sys::CUresult::CUDA_ERROR_INVALID_VALUE;
    for (count, firsts, stream) in [
        (2, &mut [0, 1][..], DEFAULT),
        (2, &mut [0, 0], stream),
        (2, &mut [1], stream),
        (1, &mut [0, 1], stream),
        (0, &mut [0], stream),
        (2, &mut [], stream),
    ] {
        assert_eq!(batch(count, firsts, stream), invalid);
    }
    gate.open();
    ok!(cuStreamSynchronize(stream));
    assert_holds(two, [6_u32, 7]);
    assert_eq!(ephemeral, 0);
}

#[test]
fn a_peer_copy_without_a_stream_comes_after_the_work_of_both_devices() {
    let [one, two] = Gpu::take_several();
    let (from, to) = (two.allocate(8), one.allocate(8));
    two.enter();
    let gate = Gate::close(DEFAULT);
    ok!(cuMemsetD32_v2(from, 3, 2));
    one.enter();
    ok!(cuMemcpyPeer(to, one.context, from, two.context, 8));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(DEFAULT));
    two.enter();
    ok!(cuMemsetD32_v2(from, 4, 2));
    gate.open();
    ok!(cuCtxSynchronize());
    one.enter();
    assert_holds(to, [3_u32, 3]);
    assert_holds(from, [4_u32, 4]);
}
