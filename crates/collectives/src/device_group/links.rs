//! The ways on which the devices of a group reach each other.

use std::collections::HashMap;

use gpu_runtime::outside_of_captures;
use parking_lot::Mutex;
use tensor::{Device, Result, cuda};

use crate::plan::GroupLinks;

/// The links between devices, each of which is opened and tried when it is asked for first: a group of
/// 64 devices has 2016 pairs, and an all-reduce of it uses 192.
pub(super) struct DeviceLinks {
    devices: Vec<Device>,
    /// By sender and receiver, whether what the one sends arrives at the other directly.
    known: Mutex<HashMap<(usize, usize), bool>>,
}

impl DeviceLinks {
    pub(super) fn between(devices: Vec<Device>) -> DeviceLinks {
        DeviceLinks { devices, known: Mutex::default() }
    }

    /// Opens the direct ways from the one to the other of each pair of ranks, where the machine has
    /// sound ones. Whether it has them all.
    ///
    /// # Errors
    /// A device cannot be used.
    pub(super) fn open(&self, pairs: impl Iterator<Item = (usize, usize)>) -> Result<GroupLinks> {
        let mut known = self.known.lock();
        let mut links = GroupLinks::Direct;
        for pair in pairs {
            let is_direct = match known.get(&pair) {
                Some(&is_direct) => is_direct,
                None => {
                    let (from, to) = (self.devices[pair.0], self.devices[pair.1]);
                    let is_direct = outside_of_captures(|| cuda::connect_peer(from, to))?;
                    known.insert(pair, is_direct);
                    is_direct
                }
            };
            if !is_direct {
                links = GroupLinks::Host;
            }
        }
        Ok(links)
    }
}
