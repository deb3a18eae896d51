//! Captures that add to a graph of the program's.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{CUgraph, CUgraphEdgeData, CUgraphNode, CUstream, CUstreamCaptureMode};

use crate::api::Result;
use crate::api::arguments::{self, Count, List, number};
use crate::api::graphs::structure::edges;
use crate::api::streams::captures::own;
use crate::device::{StreamRef, machine};
use crate::graph::{CaptureSequence, StreamCaptureMode, graphs};

pub(in crate::api) fn cuStreamBeginCaptureToGraph(
    stream: CUstream,
    graph: CUgraph,
    dependencies: List<CUgraphNode>,
    data: List<CUgraphEdgeData>,
    count: Count,
    mode: CUstreamCaptureMode,
) -> Result {
    let machine = machine()?;
    let stream = own(StreamRef::resolve(machine, number(stream))?)?;
    let mode = StreamCaptureMode::new(mode)?;
    let graph = arguments::graph(graph)?;
    let edges = edges(&graph, dependencies.of(count), data.of(count))?;
    stream.context.check()?;
    let graphs = graphs()?;
    CaptureSequence::begin(&graphs.table, &graphs.captures, &stream, mode, Some((graph, edges)))
}
