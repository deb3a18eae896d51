//! Random programs of streams and events: captured and launched, they do what they do at once.

use std::ptr;

use cuda_sys::{CUevent, CUfunction, CUstream};
use proptest::prelude::*;

use super::common::*;
use crate::ok;
use crate::sim::{Gpu, KERNELS, NON_BLOCKING, download, function, launch};

const STREAMS: usize = 3;
const EVENTS: usize = 3;
const CELLS: usize = 4;

/// Operations of a program. Cells are 64-bit numbers in device memory.
#[derive(Debug, Clone, Copy)]
enum Operation {
    Increment {
        stream: usize,
        cell: usize,
    },
    Copy {
        stream: usize,
        from: usize,
        to: usize,
    },
    Fill {
        stream: usize,
        cell: usize,
        value: u8,
    },
    /// Orders all that comes later in one stream after all that there is in another.
    Order {
        earlier: usize,
        later: usize,
        event: usize,
    },
}

fn program() -> impl Strategy<Value = Vec<Operation>> {
    let (stream, cell) = (|| 0..STREAMS, || 0..CELLS);
    let operation = prop_oneof![
        (stream(), cell()).prop_map(|(stream, cell)| Operation::Increment { stream, cell }),
        (stream(), cell(), cell()).prop_map(|(stream, from, to)| Operation::Copy {
            stream,
            from,
            to
        }),
        (stream(), cell(), any::<u8>()).prop_map(|(stream, cell, value)| Operation::Fill {
            stream,
            cell,
            value
        }),
        (stream(), stream(), 0..EVENTS).prop_map(|(earlier, later, event)| Operation::Order {
            earlier,
            later,
            event
        }),
    ];
    prop::collection::vec(operation, 1..40)
}

struct World {
    increment: CUfunction,
    streams: [CUstream; STREAMS],
    events: [CUevent; EVENTS],
    memory: u64,
}

impl World {
    fn order(&self, earlier: usize, later: usize, event: usize) {
        ok!(cuEventRecord(self.events[event], self.streams[earlier]));
        ok!(cuStreamWaitEvent(self.streams[later], self.events[event], 0));
    }

    /// Enqueues a program from the first stream on. Before each operation its stream waits for the
    /// others, where the program does not order what touches the same cells itself.
    fn run(&self, program: &[Operation]) {
        (1..STREAMS).for_each(|stream| self.order(0, stream, 0));
        let cell = |cell: usize| self.memory + 8 * cell as u64;
        let mut last = [0; CELLS];
        for &operation in program {
            let touched = match operation {
                Operation::Increment { stream, cell } | Operation::Fill { stream, cell, .. } => {
                    Some((stream, [cell, cell]))
                }
                Operation::Copy { stream, from, to } => Some((stream, [from, to])),
                Operation::Order { .. } => None,
            };
            for (stream, touched) in touched.iter().flat_map(|(s, all)| all.map(|cell| (*s, cell)))
            {
                let before = std::mem::replace(&mut last[touched], stream);
                if before != stream {
                    self.order(before, stream, 0);
                }
            }
            match operation {
                Operation::Increment { stream, cell: at } => {
                    let launched =
                        launch(self.increment, [1, 1], self.streams[stream], &[cell(at)]);
                    launched.ok().expect("it is enqueued");
                }
                Operation::Copy { stream, from, to } => {
                    ok!(cuMemcpyDtoDAsync_v2(cell(to), cell(from), 8, self.streams[stream]));
                }
                Operation::Fill { stream, cell: at, value } => {
                    ok!(cuMemsetD8Async(cell(at), value, 8, self.streams[stream]));
                }
                Operation::Order { earlier, later, event } => self.order(earlier, later, event),
            }
        }
        (1..STREAMS).for_each(|stream| self.order(stream, 0, 0));
    }

    fn clear(&self) {
        ok!(cuMemsetD8Async(self.memory, 1, 8 * CELLS, self.streams[0]));
    }

    fn result(&self) -> [u64; CELLS] {
        ok!(cuStreamSynchronize(self.streams[0]));
        download(self.memory)
    }
}

#[test]
fn what_is_captured_does_what_it_does_at_once() {
    let gpu = Gpu::take();
    let world = World {
        increment: function(gpu.load(KERNELS), c"increment"),
        streams: [(); STREAMS].map(|()| gpu.stream(NON_BLOCKING)),
        events: [(); EVENTS].map(|()| gpu.event(UNTIMED)),
        memory: gpu.allocate(8 * CELLS),
    };
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) };
    proptest!(cases, |(program in program())| {
        world.clear();
        world.run(&program);
        let eager = world.result();
        let graph = capture(world.streams[0], || world.run(&program));
        let executable = instantiate(graph);
        world.clear();
        done!(cuGraphLaunch(executable, world.streams[0]));
        prop_assert_eq!(world.result(), eager);
        // A second launch goes on from there, as the program would.
        done!(cuGraphLaunch(executable, world.streams[0]));
        let again = world.result();
        world.clear();
        world.run(&program);
        world.run(&program);
        prop_assert_eq!(world.result(), again);
        done!(cuGraphExecDestroy(executable));
        done!(cuGraphDestroy(graph));
    });
}

/// Each node of a random graph stores, in order, into a place of its own and reads those before it:
/// a kernel copies a cell that an earlier node has filled.
#[test]
fn nodes_of_random_graphs_run_after_all_that_they_depend_on() {
    const NODES: usize = 12;
    let gpu = Gpu::take();
    let (stream, memory) = (gpu.stream(NON_BLOCKING), gpu.allocate(8 * (NODES + 1)));
    let earlier = |node: usize| prop::collection::btree_set(0..node.max(1), 0..3);
    let graphs = (0..NODES).map(earlier).collect::<Vec<_>>();
    let cases = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(50) };
    proptest!(cases, |(dependencies in graphs)| {
        let graph = new_graph();
        let cell = |node: usize| memory + 8 * node as u64;
        let mut nodes = Vec::new();
        let mut expected = [0_u64; NODES];
        for (node, earlier) in dependencies.iter().enumerate() {
            let after: Vec<_> = earlier.iter().filter(|&&other| other < node).copied().collect();
            let handles: Vec<_> = after.iter().map(|&other: &usize| nodes[other]).collect();
            let mut added = ptr::null_mut();
            let (list, count) = (handles.as_ptr(), handles.len());
            match after.last() {
                Some(&source) => {
                    // SAFETY: the structure may be all zeros.
                    let mut copy: cuda_sys::CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
                    copy.srcMemoryType = cuda_sys::CUmemorytype::CU_MEMORYTYPE_DEVICE;
                    copy.dstMemoryType = copy.srcMemoryType;
                    (copy.srcDevice, copy.dstDevice) = (cell(source), cell(node));
                    (copy.WidthInBytes, copy.Height, copy.Depth) = (8, 1, 1);
                    done!(cuGraphAddMemcpyNode(&mut added, graph, list, count, &copy, gpu.context));
                    expected[node] = expected[source];
                }
                None => {
                    let fill = cuda_sys::CUDA_MEMSET_NODE_PARAMS {
                        dst: cell(node),
                        pitch: 0,
                        value: node as u32 + 1,
                        elementSize: 1,
                        width: 8,
                        height: 1,
                    };
                    done!(cuGraphAddMemsetNode(&mut added, graph, list, count, &fill, gpu.context));
                    expected[node] = u64::from_ne_bytes([node as u8 + 1; 8]);
                }
            }
            nodes.push(added);
        }
        ok!(cuMemsetD8Async(memory, 0, 8 * NODES, stream));
        let executable = instantiate(graph);
        done!(cuGraphLaunch(executable, stream));
        ok!(cuStreamSynchronize(stream));
        prop_assert_eq!(&download::<u64, NODES>(memory)[..], &expected[..]);
        done!(cuGraphExecDestroy(executable));
        done!(cuGraphDestroy(graph));
    });
}
