//! Checked mode: every fault of a corpus is reported for what it is, and nothing that is right.

mod at_exit;
mod bench;
mod faulty_kernels;
mod leaks;
mod ordered_memory;
mod printed;
mod programs;
mod races;
mod sound_kernels;
mod tensor_cores;
