//! Operations of streams on single values, callbacks, attributes of streams.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};

use cuda_sys::{
    CUDA_BATCH_MEM_OP_NODE_PARAMS, CUgraphNodeType as Type, CUlaunchAttributeID as Attribute,
    CUlaunchAttributeValue, CUresult, CUstream, CUstreamBatchMemOpParams,
    CUstreamBatchMemOpType as Operation,
};

use super::common::*;
use crate::sim::{
    DEFAULT, Gate, Gpu, KERNELS, NON_BLOCKING, assert_holds, function, in_child, launch,
};
use crate::{fails, ok};

const EQUAL: u32 = 1;

fn write32(address: u64, value: u32) -> CUstreamBatchMemOpParams {
    let mut operation = CUstreamBatchMemOpParams { pad: [0; 6] };
    operation.operation = Operation::CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operation.writeValue.address = address;
    operation.writeValue.__bindgen_anon_1.value = value;
    operation
}

#[test]
fn a_stream_waits_for_a_value_that_another_one_writes() {
    let gpu = Gpu::take();
    let [waiting, writing] = [(); 2].map(|()| gpu.stream(NON_BLOCKING));
    let (flag, result) = (gpu.allocate(16), gpu.allocate(8));
    ok!(cuMemsetD8_v2(flag, 0, 16));
    ok!(cuCtxSynchronize());
    done!(cuStreamWaitValue32_v2(waiting, flag, 5, 0));
    done!(cuStreamWaitValue64_v2(waiting, flag + 8, 1 << 40, EQUAL));
    ok!(cuMemsetD8Async(result, 1, 8, waiting));
    fails!(CUDA_ERROR_NOT_READY, cuStreamQuery(waiting));
    done!(cuStreamWriteValue64_v2(writing, flag + 8, 1 << 40, 0));
    done!(cuStreamWriteValue32_v2(writing, flag, 6, 0));
    ok!(cuStreamSynchronize(waiting));
    assert_holds(result, [[1_u8; 8]]);
}

#[test]
fn wrong_places_and_flags_are_errors() {
    let gpu = Gpu::take();
    let (stream, flag) = (gpu.stream(NON_BLOCKING), gpu.allocate(16));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(stream, flag + 2, 0, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2(stream, flag + 4, 0, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(stream, 0, 0, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(stream, flag, 0, 4));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(stream, flag, 0, 9));
    refused!(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32_v2(stream, flag, 0, 1 << 30));
    let mut list = [write32(flag, 1)];
    let list = list.as_mut_ptr();
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 0, list, 0));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 1, list, 1));
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 1, ptr::null_mut(), 0));
}

#[test]
fn a_batch_is_captured_as_one_node_and_tells_its_operations() {
    let gpu = Gpu::take();
    let (stream, flag) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let mut list = [write32(flag, 1), write32(flag + 4, 2)];
    let graph = capture(stream, || {
        done!(cuStreamBatchMemOp_v2(stream, 2, list.as_mut_ptr(), 0));
    });
    assert_eq!(kinds(graph), [Type::CU_GRAPH_NODE_TYPE_BATCH_MEM_OP]);
    let node = nodes(graph)[0];
    let mut told = CUDA_BATCH_MEM_OP_NODE_PARAMS {
        ctx: ptr::null_mut(),
        count: 0,
        paramArray: ptr::null_mut(),
        flags: 9,
    };
    done!(cuGraphBatchMemOpNodeGetParams(node, &mut told));
    assert_eq!((told.ctx, told.count, told.flags), (gpu.context, 2, 0));
    // SAFETY: the list is the node's, and of this length.
    let second = unsafe { told.paramArray.add(1).read().writeValue };
    // SAFETY: any bytes are a number.
    assert_eq!((second.address, unsafe { second.__bindgen_anon_1.value }), (flag + 4, 2));
    let executable = instantiate(graph);
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(flag, [1_u32, 2]);
    list[0] = write32(flag, 7);
    told.paramArray = list.as_mut_ptr();
    done!(cuGraphExecBatchMemOpNodeSetParams(executable, node, &told));
    told.count = 1;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphExecBatchMemOpNodeSetParams(executable, node, &told));
    done!(cuGraphBatchMemOpNodeSetParams(node, &told));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(flag, [7_u32, 2]);
}

unsafe extern "C" fn note(stream: CUstream, status: CUresult, argument: *mut c_void) {
    // SAFETY: the argument is a sender that lives until the test has heard of it.
    let tell = unsafe { &*argument.cast::<Sender<(usize, CUresult)>>() };
    let _ = tell.send((stream.addr(), status));
}

#[test]
fn a_callback_learns_how_its_stream_fared() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let trapped = function(gpu.load(KERNELS), c"trapped");
        let stream = gpu.stream(NON_BLOCKING);
        let (tell, told) = channel::<(usize, CUresult)>();
        // It is in use until the callback has returned, which nobody waits for.
        let argument: *mut c_void = Box::into_raw(Box::new(tell)).cast();
        done!(cuStreamAddCallback(stream, Some(note), argument, 0));
        assert_eq!(told.recv(), Ok((stream.addr(), CUresult::CUDA_SUCCESS)));
        refused!(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, None, argument, 0));
        refused!(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, Some(note), argument, 1));
        let gate = Gate::close(stream);
        launch(trapped, [1, 1], stream, &[]).ok().expect("it is enqueued");
        done!(cuStreamAddCallback(stream, Some(note), argument, 0));
        gate.open();
        assert_eq!(told.recv(), Ok((stream.addr(), CUresult::CUDA_ERROR_LAUNCH_FAILED)));
    });
}

#[test]
fn streams_tell_their_device_and_keep_their_attributes() {
    let gpu = Gpu::take();
    let [one, two] = [(); 2].map(|()| gpu.stream(0));
    let (mut device, mut context, mut green) = (99, ptr::null_mut(), ptr::dangling_mut());
    done!(cuStreamGetDevice(one, &mut device));
    done!(cuStreamGetCtx_v2(DEFAULT, &mut context, &mut green));
    assert_eq!((device, context, green.is_null()), (gpu.ordinal, gpu.context, true));
    let policy = Attribute::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY;
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.syncPolicy = cuda_sys::CUsynchronizationPolicy::CU_SYNC_POLICY_SPIN;
    done!(cuStreamSetAttribute(one, policy, &value));
    done!(cuStreamCopyAttributes(two, one));
    value.pad = [0; 64];
    done!(cuStreamGetAttribute(two, policy, &mut value));
    // SAFETY: any bytes are a number.
    let kept = unsafe { value.syncPolicy };
    assert_eq!(kept, cuda_sys::CUsynchronizationPolicy::CU_SYNC_POLICY_SPIN);
    let cooperative = Attribute::CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    refused!(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute(one, cooperative, &mut value));
}

static RUNS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn count(_: CUstream, _: CUresult, _: *mut c_void) {
    RUNS.fetch_add(1, Ordering::Relaxed);
}

#[test]
fn callbacks_are_not_captured() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    refused!(
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        cuStreamAddCallback(stream, Some(count), ptr::null_mut(), 0)
    );
    assert_eq!(end_in_vain(stream), CUresult::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    assert_eq!(RUNS.load(Ordering::Relaxed), 0);
}
