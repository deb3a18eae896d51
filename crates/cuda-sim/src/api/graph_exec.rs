//! Executable graphs.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::c_ulonglong;

use cuda_sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphExec, CUgraphInstantiate_flags as Flags,
    CUgraphInstantiateResult as Outcome, CUresult, CUstream, cuuint64_t,
};

use super::Result;
use super::arguments::{self, InOut, Out, handle, number};
use crate::device::{current, platform};
use crate::graph::{Executable, Instantiation};

pub(super) fn cuGraphInstantiateWithFlags(
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

pub(super) fn cuGraphInstantiateWithParams(
    out: Out<CUgraphExec>,
    graph: CUgraph,
    place: InOut<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Result {
    let mut given = place.get();
    let uploads = given.flags & u64::from(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0) != 0;
    let stream = if uploads {
        arguments::stream(platform()?, given.hUploadStream).map(drop)
    } else {
        Ok(())
    };
    let made = stream.map_err(Instantiation::Failed).and_then(|()| instantiate(graph, given.flags));
    let (outcome, node, result) = match made {
        Ok(number) => {
            out.set(handle(number));
            (Outcome::CUDA_GRAPH_INSTANTIATE_SUCCESS, 0, Ok(()))
        }
        Err(Instantiation::Failed(error)) => (Outcome::CUDA_GRAPH_INSTANTIATE_ERROR, 0, Err(error)),
        Err(Instantiation::Cycle(node)) => {
            let outcome = Outcome::CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE;
            (outcome, node, Err(CUresult::CUDA_ERROR_INVALID_VALUE))
        }
    };
    given.result_out = outcome;
    given.hErrNode_out = handle(node);
    place.set(given);
    result
}

/// There is nothing to upload: it only has to be a launch that could be.
pub(super) fn cuGraphUpload(executable: CUgraphExec, stream: CUstream) -> Result {
    let platform = platform()?;
    arguments::executable(platform, executable)?;
    arguments::stream(platform, stream).map(drop)
}

pub(super) fn cuGraphLaunch(executable: CUgraphExec, stream: CUstream) -> Result {
    let platform = platform()?;
    let executable = arguments::executable(platform, executable)?;
    executable.launch(platform, &arguments::capturable(platform, stream)?)
}

pub(super) fn cuGraphExecGetFlags(executable: CUgraphExec, out: Out<cuuint64_t>) -> Result {
    out.set(arguments::executable(platform()?, executable)?.flags);
    Ok(())
}

/// What was launched runs to the end.
pub(super) fn cuGraphExecDestroy(executable: CUgraphExec) -> Result {
    let removed = platform()?.graphs.executables.remove(number(executable));
    removed.map(drop).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}

fn instantiate(graph: CUgraph, flags: u64) -> std::result::Result<u64, Instantiation> {
    let platform = platform().map_err(Instantiation::Failed)?;
    let graph = arguments::graph(platform, graph).map_err(Instantiation::Failed)?;
    let context = current::working().map_err(Instantiation::Failed)?;
    Executable::new(platform, &graph, &context, flags).map(|(number, _)| number)
}
