//! A client of the driver API that knows nothing of Sluice, and the comparison of its header with ours.

mod calls;
mod headers;
mod launch;
mod sizes;
mod support;
