//! What the communicator promises, tried in jobs of several processes that `mpirun` starts.

mod collectives;
mod digits;
mod failures;
mod ranks;
