//! Nodes that are made by hand, their parameters, and what they do.

use std::ffi::c_void;
use std::mem::zeroed;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sys::{
    CUDA_HOST_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS,
    CUfunction, CUgraphNodeParams, CUgraphNodeType, CUlaunchAttributeID as Attribute,
    CUlaunchAttributeValue, CUmemorytype,
};

use super::common::*;
use crate::ok;
use crate::sim::{Gpu, KERNELS, NON_BLOCKING, assert_holds, download, function};

/// One thread of a kernel of 64-bit parameters.
fn kernel(function: CUfunction, pointers: &mut [*mut c_void]) -> CUDA_KERNEL_NODE_PARAMS {
    CUDA_KERNEL_NODE_PARAMS {
        func: function,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: pointers.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

fn pointers<const N: usize>(arguments: &mut [u64; N]) -> [*mut c_void; N] {
    arguments.each_mut().map(|argument| ptr::from_mut(argument).cast())
}

#[test]
fn a_kernel_node_takes_its_arguments_along_and_tells_them() {
    let gpu = Gpu::take();
    let store = function(gpu.load(KERNELS), c"store");
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    let (graph, mut node) = (new_graph(), ptr::null_mut());
    let mut arguments = [pointer, 41];
    let mut list = pointers(&mut arguments);
    let mut given = kernel(store, &mut list);
    done!(cuGraphAddKernelNode_v2(&mut node, graph, ptr::null(), 0, &given));
    arguments[1] = 42;
    let mut told = given;
    done!(cuGraphKernelNodeGetParams_v2(node, &mut told));
    assert_eq!((told.func, told.gridDimX, told.ctx), (store, 1, gpu.context));
    // SAFETY: the node's list has as many pointers as the kernel has parameters, of 8 bytes each.
    let second = unsafe { told.kernelParams.add(1).read().cast::<u64>().read() };
    assert_eq!(second, 41);
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [41_u64]);
    let mut list = pointers(&mut arguments);
    given.kernelParams = list.as_mut_ptr();
    done!(cuGraphKernelNodeSetParams_v2(node, &given));
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [42_u64]);
    given.blockDimX = 2000;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams_v2(node, &given));
    given.func = ptr::null_mut();
    refused!(CUDA_ERROR_INVALID_HANDLE, cuGraphKernelNodeSetParams_v2(node, &given));
}

#[test]
fn attributes_of_kernel_nodes_are_kept_and_copied() {
    let gpu = Gpu::take();
    let nothing = function(gpu.load(KERNELS), c"nothing");
    let graph = new_graph();
    let [mut one, mut two] = [ptr::null_mut(); 2];
    let given = kernel(nothing, &mut []);
    done!(cuGraphAddKernelNode_v2(&mut one, graph, ptr::null(), 0, &given));
    done!(cuGraphAddKernelNode_v2(&mut two, graph, ptr::null(), 0, &given));
    let mut value = CUlaunchAttributeValue { pad: [0; 64] };
    value.priority = -3;
    let priority = Attribute::CU_LAUNCH_ATTRIBUTE_PRIORITY;
    done!(cuGraphKernelNodeSetAttribute(one, priority, &value));
    done!(cuGraphKernelNodeCopyAttributes(two, one));
    value.priority = 9;
    done!(cuGraphKernelNodeGetAttribute(two, priority, &mut value));
    // SAFETY: any bytes are a number.
    assert_eq!(unsafe { value.priority }, -3);
    let unknown = Attribute(99);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute(two, unknown, &mut value));
    let other = empty(graph, &[]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetAttribute(other, priority, &value));
}

#[test]
fn copy_and_fill_nodes_go_by_rows() {
    let gpu = Gpu::take();
    let stream = gpu.stream(NON_BLOCKING);
    let (from, to) = (gpu.allocate(64), gpu.allocate(64));
    let (graph, [mut fill, mut copy]) = (new_graph(), [ptr::null_mut(); 2]);
    let mut filling = CUDA_MEMSET_NODE_PARAMS {
        dst: from + 2,
        pitch: 16,
        value: 0x0101_0203,
        elementSize: 2,
        width: 3,
        height: 2,
    };
    ok!(cuMemsetD8_v2(from, 0, 64));
    ok!(cuMemsetD8_v2(to, 9, 64));
    let none = ptr::null_mut();
    done!(cuGraphAddMemsetNode(&mut fill, graph, ptr::null(), 0, &filling, none));
    // SAFETY: the structure may be all zeros.
    let mut copying: CUDA_MEMCPY3D = unsafe { zeroed() };
    copying.srcMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    copying.srcDevice = from;
    copying.srcPitch = 16;
    copying.srcXInBytes = 2;
    copying.dstMemoryType = CUmemorytype::CU_MEMORYTYPE_DEVICE;
    copying.dstDevice = to;
    copying.dstPitch = 8;
    copying.dstY = 1;
    copying.WidthInBytes = 6;
    copying.Height = 2;
    copying.Depth = 1;
    done!(cuGraphAddMemcpyNode(&mut copy, graph, &fill, 1, &copying, gpu.context));
    ok!(cuCtxSynchronize());
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    let row = [3, 2, 3, 2, 3, 2];
    let bytes = download::<u8, 24>(to);
    assert_eq!((&bytes[..8], &bytes[8..14], &bytes[16..22]), (&[9; 8][..], &row[..], &row[..]));
    assert_eq!((bytes[14], bytes[22]), (9, 9));
    let mut told = filling;
    done!(cuGraphMemsetNodeGetParams(fill, &mut told));
    assert_eq!((told.dst, told.pitch, told.value, told.width), (from + 2, 16, 0x0101_0203, 3));
    // SAFETY: the structure may be all zeros.
    let mut told: CUDA_MEMCPY3D = unsafe { zeroed() };
    done!(cuGraphMemcpyNodeGetParams(copy, &mut told));
    assert_eq!((told.srcDevice, told.srcXInBytes, told.dstY, told.Height), (from, 2, 1, 2));
    filling.elementSize = 3;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams(fill, &filling));
    filling.elementSize = 4;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams(fill, &filling));
    for wrong in [
        CUDA_MEMCPY3D { Height: 0, ..copying },
        CUDA_MEMCPY3D { dstPitch: 5, ..copying },
        CUDA_MEMCPY3D { dstDevice: 1 << 20, ..copying },
        CUDA_MEMCPY3D { Height: 100, ..copying },
        CUDA_MEMCPY3D { WidthInBytes: usize::MAX, Height: usize::MAX, ..copying },
    ] {
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphMemcpyNodeSetParams(copy, &wrong));
    }
}

static CALLS: AtomicU32 = AtomicU32::new(0);

unsafe extern "C" fn add(argument: *mut c_void) {
    CALLS.fetch_add(argument.addr() as u32, Ordering::Relaxed);
}

#[test]
fn host_nodes_call_their_functions_in_the_order_of_the_graph() {
    let gpu = Gpu::take();
    let (graph, mut node) = (new_graph(), ptr::null_mut());
    let by = |count: usize| CUDA_HOST_NODE_PARAMS {
        fn_: Some(add),
        userData: ptr::without_provenance_mut(count),
    };
    done!(cuGraphAddHostNode(&mut node, graph, ptr::null(), 0, &by(1)));
    done!(cuGraphHostNodeSetParams(node, &by(10)));
    let mut told = by(0);
    done!(cuGraphHostNodeGetParams(node, &mut told));
    assert_eq!(told.userData.addr(), 10);
    let stream = gpu.stream(0);
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    assert_eq!(CALLS.load(Ordering::Relaxed), 10);
    let none = CUDA_HOST_NODE_PARAMS { fn_: None, userData: ptr::null_mut() };
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeSetParams(node, &none));
}

#[test]
fn event_nodes_know_their_events() {
    let gpu = Gpu::take();
    let (one, two) = (gpu.event(UNTIMED), gpu.event(UNTIMED));
    let (graph, [mut record, mut wait, mut told]) = (new_graph(), [ptr::null_mut(); 3]);
    done!(cuGraphAddEventRecordNode(&mut record, graph, ptr::null(), 0, one));
    done!(cuGraphAddEventWaitNode(&mut wait, graph, &record, 1, one));
    done!(cuGraphEventWaitNodeSetEvent(wait, two));
    let mut event = ptr::null_mut();
    done!(cuGraphEventRecordNodeGetEvent(record, &mut event));
    assert_eq!(event, one);
    done!(cuGraphEventWaitNodeGetEvent(wait, &mut event));
    assert_eq!(event, two);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphEventWaitNodeGetEvent(record, &mut event));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphEventRecordNodeSetEvent(wait, one));
    let wild = ptr::null_mut();
    refused!(
        CUDA_ERROR_INVALID_HANDLE,
        cuGraphAddEventWaitNode(&mut told, graph, ptr::null(), 0, wild)
    );
}

#[test]
fn one_call_adds_nodes_of_any_kind() {
    let gpu = Gpu::take();
    let (stream, pointer) = (gpu.stream(0), gpu.allocate(8));
    let (graph, [mut first, mut second]) = (new_graph(), [ptr::null_mut(); 2]);
    // SAFETY: the structure may be all zeros.
    let mut given: CUgraphNodeParams = unsafe { zeroed() };
    given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EMPTY;
    let none = ptr::null();
    done!(cuGraphAddNode_v2(&mut first, graph, ptr::null(), none, 0, &mut given));
    given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_MEMSET;
    given.__bindgen_anon_1.memset = cuda_sys::CUDA_MEMSET_NODE_PARAMS_v2 {
        dst: pointer,
        pitch: 0,
        value: 5,
        elementSize: 1,
        width: 8,
        height: 1,
        ctx: gpu.context,
    };
    done!(cuGraphAddNode_v2(&mut second, graph, &first, none, 1, &mut given));
    let executable = instantiate(graph);
    given.__bindgen_anon_1.memset.value = 6;
    done!(cuGraphNodeSetParams(second, &mut given));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [[5_u8; 8]]);
    done!(cuGraphExecNodeSetParams(executable, second, &mut given));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [[6_u8; 8]]);
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(first, &mut given));
    given.reserved2 = 1;
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(second, &mut given));
    given.reserved2 = 0;
    given.type_ = CUgraphNodeType::CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL;
    refused!(
        CUDA_ERROR_NOT_SUPPORTED,
        cuGraphAddNode_v2(&mut second, graph, ptr::null(), none, 0, &mut given)
    );
}

#[test]
fn a_kernel_of_a_library_may_be_in_a_node_however_it_is_named() {
    let gpu = Gpu::take();
    let (mut library, mut of_library, nothing) =
        (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    let (options, values) = (ptr::null_mut(), ptr::null_mut());
    let image = KERNELS.as_ptr().cast();
    done!(cuLibraryLoadData(&mut library, image, options, nothing, 0, values, nothing, 0));
    done!(cuLibraryGetKernel(&mut of_library, library, c"increment".as_ptr()));
    let pointer = gpu.allocate(8);
    ok!(cuMemsetD8_v2(pointer, 0, 8));
    let mut arguments = [pointer];
    let mut list = pointers(&mut arguments);
    let graph = new_graph();
    let as_function = kernel(of_library.cast(), &mut list);
    let current = CUDA_KERNEL_NODE_PARAMS { kern: of_library, ..kernel(nothing.cast(), &mut list) };
    let in_context = CUDA_KERNEL_NODE_PARAMS { ctx: gpu.context, ..current };
    let mut before: Vec<cuda_sys::CUgraphNode> = Vec::new();
    for given in [as_function, current, in_context] {
        let mut node = ptr::null_mut();
        let (first, count) = (before.as_ptr(), before.len());
        done!(cuGraphAddKernelNode_v2(&mut node, graph, first, count, &given));
        before = vec![node];
    }
    let none = kernel(ptr::null_mut(), &mut list);
    let mut node = ptr::null_mut();
    refused!(
        CUDA_ERROR_INVALID_HANDLE,
        cuGraphAddKernelNode_v2(&mut node, graph, ptr::null(), 0, &none)
    );
    let stream = gpu.stream(NON_BLOCKING);
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    assert_holds(pointer, [3_u64]);
    done!(cuLibraryUnload(library));
}
