//! Executable graphs.

use std::ptr;

use cuda_sys::{CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraphInstantiateResult, CUresult};

use super::common::*;
use crate::sim::{Gpu, KERNELS, NON_BLOCKING, function, in_child, launch};
use crate::{cuda, fails, ok};

const AUTO_FREE: u64 = 1;
const UPLOAD: u64 = 2;
const DEVICE_LAUNCH: u64 = 4;
const NODE_PRIORITY: u64 = 8;

#[test]
fn flags_of_an_executable_graph_are_checked_and_kept() {
    let _gpu = Gpu::take();
    let graph = new_graph();
    empty(graph, &[]);
    let mut executable = ptr::null_mut();
    for flags in [0, AUTO_FREE, NODE_PRIORITY, AUTO_FREE | NODE_PRIORITY] {
        done!(cuGraphInstantiateWithFlags(&mut executable, graph, flags));
        let mut kept = 99;
        done!(cuGraphExecGetFlags(executable, &mut kept));
        assert_eq!(kept, flags);
        done!(cuGraphExecDestroy(executable));
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphExecDestroy(executable));
    }
    for (flags, error) in [
        (16, CUresult::CUDA_ERROR_INVALID_VALUE),
        (u64::MAX, CUresult::CUDA_ERROR_INVALID_VALUE),
        (UPLOAD, CUresult::CUDA_ERROR_INVALID_VALUE),
        (AUTO_FREE | DEVICE_LAUNCH, CUresult::CUDA_ERROR_INVALID_VALUE),
        (DEVICE_LAUNCH, CUresult::CUDA_ERROR_NOT_SUPPORTED),
    ] {
        let result = newer!(cuGraphInstantiateWithFlags(&mut executable, graph, flags));
        assert_eq!(result, error, "{flags}");
    }
}

#[test]
fn instantiating_tells_which_node_is_on_a_cycle() {
    let gpu = Gpu::take();
    let graph = new_graph();
    let one = empty(graph, &[]);
    let two = empty(graph, &[one]);
    let mut parameters = CUDA_GRAPH_INSTANTIATE_PARAMS {
        flags: UPLOAD,
        hUploadStream: gpu.stream(0),
        hErrNode_out: ptr::null_mut(),
        result_out: CUgraphInstantiateResult(9),
    };
    let mut executable = ptr::null_mut();
    done!(cuGraphInstantiateWithParams(&mut executable, graph, &mut parameters));
    let success = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_SUCCESS;
    assert_eq!((parameters.result_out, parameters.hErrNode_out), (success, ptr::null_mut()));
    done!(cuGraphAddDependencies_v2(graph, &two, &one, ptr::null(), 1));
    refused!(
        CUDA_ERROR_INVALID_VALUE,
        cuGraphInstantiateWithParams(&mut executable, graph, &mut parameters)
    );
    let invalid = CUgraphInstantiateResult::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
    assert_eq!(parameters.result_out, invalid);
    assert!([one, two].contains(&parameters.hErrNode_out));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&mut executable, graph, 0));
}

#[test]
fn an_empty_graph_can_be_launched() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    let executable = instantiate(new_graph());
    done!(cuGraphUpload(executable, stream));
    done!(cuGraphLaunch(executable, stream));
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn an_executable_graph_is_as_its_graph_was() {
    let gpu = Gpu::take();
    let increment = function(gpu.load(KERNELS), c"increment");
    let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
    ok!(cuMemsetD8Async(pointer, 0, 8, stream));
    let graph = capture(stream, || {
        launch(increment, [1, 1], stream, &[pointer]).ok().expect("it is captured");
    });
    let executable = instantiate(graph);
    done!(cuGraphDestroyNode(nodes(graph)[0]));
    done!(cuGraphLaunch(executable, stream));
    done!(cuGraphLaunch(instantiate(graph), stream));
    ok!(cuStreamSynchronize(stream));
    crate::sim::assert_holds(pointer, [1_u64]);
}

#[test]
fn an_error_of_a_node_comes_late_and_stays() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let trapped = function(gpu.load(KERNELS), c"trapped");
        let stream = gpu.stream(NON_BLOCKING);
        let graph = capture(stream, || {
            launch(trapped, [1, 1], stream, &[]).ok().expect("it is captured");
        });
        let executable = instantiate(graph);
        done!(cuGraphLaunch(executable, stream));
        fails!(CUDA_ERROR_LAUNCH_FAILED, cuStreamSynchronize(stream));
        let again = newer!(cuGraphLaunch(executable, stream));
        assert_eq!(again, CUresult::CUDA_ERROR_LAUNCH_FAILED);
        assert_eq!(cuda!(cuCtxSynchronize()), CUresult::CUDA_ERROR_LAUNCH_FAILED);
    });
}

#[test]
fn memory_that_is_gone_is_an_error_of_the_launch_that_uses_it() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
        let graph = capture(stream, || ok!(cuMemsetD8Async(pointer, 0, 8, stream)));
        let executable = instantiate(graph);
        ok!(cuMemFree_v2(pointer));
        done!(cuGraphLaunch(executable, stream));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    });
}

#[test]
fn wrong_graphs_are_errors() {
    let gpu = Gpu::take();
    let stream = gpu.stream(0);
    for wild in [0, 1, 16, 0xdead_beef_0000, usize::MAX, stream.addr()] {
        let mut executable = ptr::null_mut();
        let graph = ptr::without_provenance_mut(wild);
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&mut executable, graph, 0));
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
        let executable = ptr::without_provenance_mut(wild);
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(executable, stream));
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphExecDestroy(executable));
        refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode(ptr::without_provenance_mut(wild)));
    }
    let graph = new_graph();
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(ptr::null_mut(), graph, 0));
    done!(cuGraphDestroy(graph));
    refused!(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
}

#[test]
fn graphs_outlive_a_context_and_its_part_of_them_does_not() {
    let gpu = Gpu::take();
    let mut context = ptr::null_mut();
    ok!(cuCtxCreate_v2(&mut context, 0, gpu.ordinal));
    let (mut module, mut stream) = (ptr::null_mut(), ptr::null_mut());
    ok!(cuModuleLoadData(&mut module, KERNELS.as_ptr().cast()));
    ok!(cuStreamCreate(&mut stream, NON_BLOCKING));
    let nothing = function(module, c"nothing");
    let graph = capture(stream, || {
        launch(nothing, [1, 1], stream, &[]).ok().expect("it is captured");
    });
    let executable = instantiate(graph);
    ok!(cuCtxDestroy_v2(context));
    gpu.enter();
    let stream = gpu.stream(0);
    refused!(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuGraphLaunch(executable, stream));
    assert_eq!(kinds(graph).len(), 1);
    refused!(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuGraphLaunch(instantiate(graph), stream));
    done!(cuGraphExecDestroy(executable));
    done!(cuGraphDestroy(graph));
}

#[test]
fn a_copy_whose_page_locked_memory_was_freed_before_the_launch_loses_the_device_only() {
    in_child(&[], || {
        let gpu = Gpu::take();
        let (stream, pointer) = (gpu.stream(NON_BLOCKING), gpu.allocate(8));
        let mut host = ptr::null_mut();
        ok!(cuMemHostAlloc(&mut host, 8, 0));
        let graph = capture(stream, || ok!(cuMemcpyHtoDAsync_v2(pointer, host, 8, stream)));
        let executable = instantiate(graph);
        done!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        ok!(cuMemFreeHost(host));
        done!(cuGraphLaunch(executable, stream));
        fails!(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize(stream));
    });
}
