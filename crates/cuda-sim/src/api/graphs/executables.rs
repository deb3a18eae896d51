//! Executable graphs: made, launched, destroyed.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_ulonglong;

use cuda_sys::{CUgraph, CUgraphExec, CUgraphInstantiate_flags as Flags, CUresult, CUstream};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle, number};
use crate::device::{current, machine};
use crate::graph::{Executable, Instantiation, graphs};

pub(in crate::api) fn cuGraphInstantiateWithFlags(
    out: Out<CUgraphExec>,
    graph: CUgraph,
    flags: c_ulonglong,
) -> Result {
    // An upload needs a stream, which this call does not have.
    if flags & u64::from(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0) != 0 {
        return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
    }
    match instantiate(graph, flags) {
        Ok(number) => {
            out.set(handle(number));
            Ok(())
        }
        Err(Instantiation::Failed(error)) => Err(error),
        Err(Instantiation::Cycle(_)) => Err(CUresult::CUDA_ERROR_INVALID_VALUE),
    }
}

pub(in crate::api) fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> Result {
    let machine = machine()?;
    let executable = arguments::executable(executable)?;
    // Unlike other work, it does not become a node of what is captured.
    executable.launch(machine, &arguments::stream(machine, stream)?)
}

/// Launches that are under way run to the end.
pub(in crate::api) fn cuGraphExecDestroy(executable: CUgraphExec) -> Result {
    let removed = graphs()?.executables.remove(number(executable));
    removed.map(|executable| executable.clear()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

pub(in crate::api) fn instantiate(
    graph: CUgraph,
    flags: u64,
) -> std::result::Result<u64, Instantiation> {
    let machine = machine().map_err(Instantiation::Failed)?;
    let graph = arguments::graph(graph).map_err(Instantiation::Failed)?;
    let context = current::working().map_err(Instantiation::Failed)?;
    let graphs = graphs().map_err(Instantiation::Failed)?;
    let executable = Executable::new(machine, &graph, &context, flags, &graphs.memories)?;
    let inserted = graphs.executables.insert(|_| executable);
    let out_of_memory = Instantiation::Failed(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
    inserted.map(|(number, _)| number).ok_or(out_of_memory)
}
