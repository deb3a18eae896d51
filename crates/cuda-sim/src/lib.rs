//! A software CUDA driver: the driver API, for machines without a GPU.

#[allow(
    dead_code,
    unused_imports,
    reason = "the driver API that calls this is being built beside it"
)]
mod exec;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver API that calls this is being built beside it"
)]
mod ptx;
