//! The kernels of the CPU: loops over dense blocks, in the instruction set of the processor.
