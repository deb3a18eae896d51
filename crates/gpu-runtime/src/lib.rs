//! Devices, streams, events, copies and launches on a CUDA driver.
