//! Tests of the allocators: the policies against models, the whole on the software driver.

mod host_model;
mod pytorch_model;
mod pytorch_policy;
mod test_source;
