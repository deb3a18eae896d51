//! Virtual memory management: physical memory that programs create (`cuMemCreate`), and what is
//! mapped where (`cuMemMap`).

pub(in crate::device) mod mappings;
pub(in crate::device) mod physical;
