//! Objects of the program's that graphs keep.

#![allow(non_snake_case, reason = "the names of the C API")]

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cuda_sys::{
    CUgraph, CUhostFn, CUresult, CUuserObject, CUuserObject_flags, CUuserObjectRetain_flags,
};

use crate::api::Result;
use crate::api::arguments::{self, Out, handle, number};
use crate::graph::{UserObject, graphs};

const INVALID: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

pub(in crate::api) fn cuUserObjectCreate(
    out: Out<CUuserObject>,
    pointer: *mut c_void,
    destroy: CUhostFn,
    references: c_uint,
    flags: c_uint,
) -> Result {
    let destroy = destroy.ok_or(INVALID)?;
    // The one flag that there is must be given: nobody waits for the destructor.
    if flags != CUuserObject_flags::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC.0 {
        return Err(INVALID);
    }
    let graphs = graphs()?;
    out.set(handle(UserObject::register(
        &graphs.user_objects,
        destroy,
        pointer,
        some(references)?,
    )?));
    Ok(())
}

pub(in crate::api) fn cuUserObjectRetain(object: CUuserObject, count: c_uint) -> Result {
    find(object)?.retain(some(count)?);
    Ok(())
}

pub(in crate::api) fn cuUserObjectRelease(object: CUuserObject, count: c_uint) -> Result {
    find(object)?.release(some(count)?)
}

pub(in crate::api) fn cuGraphRetainUserObject(
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
    flags: c_uint,
) -> Result {
    let graph = arguments::graph(graph)?;
    let (object, count) = (find(object)?, some(count)?);
    let moves = match CUuserObjectRetain_flags(flags) {
        CUuserObjectRetain_flags(0) => false,
        CUuserObjectRetain_flags::CU_GRAPH_USER_OBJECT_MOVE => true,
        _ => return Err(INVALID),
    };
    graph.hold(&object, count, moves);
    Ok(())
}

pub(in crate::api) fn cuGraphReleaseUserObject(
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
) -> Result {
    let graph = arguments::graph(graph)?;
    graph.let_go(&find(object)?, some(count)?)
}

fn find(object: CUuserObject) -> Result<Arc<UserObject>> {
    graphs()?.user_objects.get(number(object)).ok_or(INVALID)
}

/// A count of references: from 1 to what a signed number can be.
fn some(count: c_uint) -> Result<u64> {
    (1..=i32::MAX as c_uint).contains(&count).then_some(u64::from(count)).ok_or(INVALID)
}
