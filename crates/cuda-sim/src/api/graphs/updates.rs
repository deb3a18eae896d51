//! Updates of executable graphs from graphs of the same shape.

#![allow(non_snake_case, reason = "the names of the C API")]

use cuda_sys::{
    CUgraph, CUgraphExec, CUgraphExecUpdateResult as Outcome, CUgraphExecUpdateResultInfo, CUresult,
};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle};
use crate::graph::Mismatch;

pub(in crate::api) fn cuGraphExecUpdate_v2(
    executable: CUgraphExec,
    graph: CUgraph,
    out: Out<CUgraphExecUpdateResultInfo>,
) -> Result {
    let failed = |error| {
        let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_ERROR;
        (Mismatch { outcome, node: 0, from: 0 }, Err(error))
    };
    let found = arguments::executable(executable)
        .and_then(|executable| Ok((executable, arguments::graph(graph)?)));
    let (told, result) = match found {
        Err(error) => failed(error),
        Ok((_, graph)) if graph.is_being_captured() => failed(CUresult::CUDA_ERROR_INVALID_VALUE),
        Ok((executable, graph)) => match executable.update(&graph) {
            Ok(()) => {
                let outcome = Outcome::CU_GRAPH_EXEC_UPDATE_SUCCESS;
                (Mismatch { outcome, node: 0, from: 0 }, Ok(()))
            }
            Err(told) => (told, Err(CUresult::CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE)),
        },
    };
    out.set(CUgraphExecUpdateResultInfo {
        result: told.outcome,
        errorNode: handle(told.node),
        errorFromNode: handle(told.from),
    });
    result
}
