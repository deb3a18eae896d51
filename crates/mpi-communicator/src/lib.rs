//! Training in several processes, on one machine or many: a
//! [`Communicator`](collectives::Communicator) over MPI (`torch.distributed` with the backend
//! `mpi`).
//!
//! `mpirun` starts the processes of a job. Each of them makes an `MpiCommunicator`, which knows
//! its number, its rank, and exchanges tensors with the others: those on the CPU, and those on CUDA
//! devices through page-locked memory of the host. Errors are values: a rank that fails, hangs or
//! is killed ends the operations of all others.
//!
//! With the feature `mpi` only, the crate is more than this page: it links an MPI library, whose
//! headers its build reads with libclang (`apt-get install libopenmpi-dev libclang-dev`).
//!
//! What it is not: it has no protocol of its own, and starts no processes. Gradients are averaged
//! by whoever trains on it.

#![cfg(feature = "mpi")]

// Layers, the top one first; a module imports only from lines below its own.
//
//   communicator
//   exchange
//   group
//   operation
//   other_ranks
//   elements, notice, parts, pause, reduction
//   link
//   error
mod communicator;
mod elements;
mod error;
mod exchange;
mod group;
mod link;
mod notice;
mod operation;
mod other_ranks;
mod parts;
mod pause;
mod reduction;

pub use communicator::MpiCommunicator;
pub use error::MpiError;
