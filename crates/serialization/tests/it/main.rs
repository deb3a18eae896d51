//! Files of every format, on the CPU and on software GPUs.

mod damage;
mod devices;
mod expected;
mod limited;
#[cfg(feature = "ndarray")]
mod ndarray;
mod refused;
mod replaced;
mod round_trips;
mod sharded;
mod written_elsewhere;
