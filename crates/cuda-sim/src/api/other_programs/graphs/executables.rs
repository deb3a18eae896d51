//! Executable graphs: made with parameters, uploaded, asked for their flags.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUDA_GRAPH_INSTANTIATE_PARAMS, CUgraph, CUgraphExec, CUgraphInstantiate_flags as Flags,
    CUgraphInstantiateResult as Outcome, CUresult, CUstream, cuuint64_t,
};

use crate::api::Result;
use crate::api::arguments::{self, InOut, Out, handle};
use crate::api::graphs::executables::instantiate;
use crate::device::machine;
use crate::graph::Instantiation;

pub(in crate::api) fn cuGraphInstantiateWithParams(
    out: Out<CUgraphExec>,
    graph: CUgraph,
    place: InOut<CUDA_GRAPH_INSTANTIATE_PARAMS>,
) -> Result {
    let mut given = place.get();
    let uploads = given.flags & u64::from(Flags::CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD.0) != 0;
    let stream =
        if uploads { arguments::stream(machine()?, given.hUploadStream).map(drop) } else { Ok(()) };
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
pub(in crate::api) fn cuGraphUpload(executable: CUgraphExec, stream: CUstream) -> Result {
    let machine = machine()?;
    arguments::executable(executable)?;
    arguments::stream(machine, stream).map(drop)
}

pub(in crate::api) fn cuGraphExecGetFlags(executable: CUgraphExec, out: Out<cuuint64_t>) -> Result {
    out.set(arguments::executable(executable)?.flags);
    Ok(())
}
