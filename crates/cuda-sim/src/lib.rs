//! A software CUDA driver: the driver API, for machines without a GPU.
