//! What the tests of graphs have in common.

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cuda_sys::{
    CUgraph, CUgraphExec, CUgraphNode, CUgraphNodeType, CUresult, CUstream, CUstreamCaptureMode,
};

/// Calls a function of the driver that the table may lack, and returns its `CUresult`.
macro_rules! newer {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let function = cuda_sim::driver().$name.expect("the software driver has it");
        // SAFETY: in all tests, what is pointed to lives until the call, and what it enqueues, is
        // done; everything else is the driver's to check.
        unsafe { function($($argument),*) }
    }};
}

/// The same for a call that is to succeed.
macro_rules! done {
    ($name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::graphs::common::newer!($name($($argument),*)), cuda_sys::CUresult::CUDA_SUCCESS)
    };
}

/// The same for a call that is to fail with that error.
macro_rules! refused {
    ($error:ident, $name:ident($($argument:expr),* $(,)?)) => {
        assert_eq!($crate::graphs::common::newer!($name($($argument),*)), cuda_sys::CUresult::$error)
    };
}

pub(super) use {done, newer, refused};

use crate::ok;

pub(super) const GLOBAL: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL;
pub(super) const THREAD_LOCAL: CUstreamCaptureMode =
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
pub(super) const RELAXED: CUstreamCaptureMode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;

/// An event that takes no time.
pub(super) const UNTIMED: u32 = 2;

/// Captures what `body` enqueues, on the part of this thread only.
pub(super) fn capture(stream: CUstream, body: impl FnOnce()) -> CUgraph {
    done!(cuStreamBeginCapture_v2(stream, THREAD_LOCAL));
    body();
    let mut graph = ptr::null_mut();
    done!(cuStreamEndCapture(stream, &mut graph));
    graph
}

pub(super) fn instantiate(graph: CUgraph) -> CUgraphExec {
    let mut executable = ptr::null_mut();
    done!(cuGraphInstantiateWithFlags(&mut executable, graph, 0));
    executable
}

pub(super) fn new_graph() -> CUgraph {
    let mut graph = ptr::null_mut();
    done!(cuGraphCreate(&mut graph, 0));
    graph
}

pub(super) fn empty(graph: CUgraph, after: &[CUgraphNode]) -> CUgraphNode {
    let mut node = ptr::null_mut();
    done!(cuGraphAddEmptyNode(&mut node, graph, after.as_ptr(), after.len()));
    node
}

/// Calls `body` again and again while another thread makes and ends contexts.
pub(super) fn while_contexts_end(mut body: impl FnMut()) {
    const CONTEXTS: usize = 100;
    // The end of a context looks through all graphs, which takes longer the more there are.
    let others: Vec<_> = (0..64).map(|_| new_graph()).collect();
    for &other in &others {
        for _ in 0..64 {
            empty(other, &[]);
        }
    }
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..CONTEXTS {
                let mut context = ptr::null_mut();
                ok!(cuCtxCreate_v2(&mut context, 0, 0));
                ok!(cuCtxDestroy_v2(context));
            }
            is_over.store(true, Ordering::Release);
        });
        while !is_over.load(Ordering::Acquire) {
            body();
        }
    });
    others.iter().for_each(|&other| done!(cuGraphDestroy(other)));
}

pub(super) fn nodes(graph: CUgraph) -> Vec<CUgraphNode> {
    let mut count = 0;
    done!(cuGraphGetNodes(graph, ptr::null_mut(), &mut count));
    let mut nodes = vec![ptr::null_mut(); count];
    done!(cuGraphGetNodes(graph, nodes.as_mut_ptr(), &mut count));
    nodes
}

pub(super) fn kinds(graph: CUgraph) -> Vec<CUgraphNodeType> {
    let kind = |&node: &CUgraphNode| {
        let mut kind = CUgraphNodeType(99);
        done!(cuGraphNodeGetType(node, &mut kind));
        kind
    };
    nodes(graph).iter().map(kind).collect()
}

/// The edges by the numbers of their nodes in the graph's list.
pub(super) fn edges(graph: CUgraph) -> Vec<(usize, usize)> {
    let mut count = 0;
    let none = ptr::null_mut();
    done!(cuGraphGetEdges_v2(graph, none, ptr::null_mut(), ptr::null_mut(), &mut count));
    let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
    let (first, second) = (from.as_mut_ptr(), to.as_mut_ptr());
    done!(cuGraphGetEdges_v2(graph, first, second, ptr::null_mut(), &mut count));
    let nodes = nodes(graph);
    let number = |wanted: &CUgraphNode| nodes.iter().position(|node| node == wanted);
    let number = |node| number(node).expect("an edge is between nodes of the graph");
    from.iter().zip(&to).map(|(from, to)| (number(from), number(to))).collect()
}

/// The status of a stream's capture.
pub(super) fn status(stream: CUstream) -> u32 {
    let mut status = cuda_sys::CUstreamCaptureStatus(9);
    done!(cuStreamIsCapturing(stream, &mut status));
    status.0
}

/// Ends a capture that cannot succeed.
pub(super) fn end_in_vain(stream: CUstream) -> CUresult {
    let mut graph = ptr::without_provenance_mut(1);
    let result = newer!(cuStreamEndCapture(stream, &mut graph));
    assert!(graph.is_null());
    result
}

pub(super) unsafe extern "C" fn nothing(_: *mut c_void) {}
