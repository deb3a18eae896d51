//! Who a device is: its numbers, name, UUID and place on the bus.

/// A device's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct DeviceId {
    /// The number that the program knows it by.
    pub(crate) ordinal: u32,
    /// The number that it keeps, whatever `CUDA_VISIBLE_DEVICES` makes of the order.
    pub(crate) physical: u32,
}

impl DeviceId {
    /// The device's name.
    pub(crate) fn name(self) -> String {
        format!("Sluice software GPU {}", self.physical)
    }

    /// The same for the same physical number, in every process on every machine.
    pub(crate) fn uuid(self) -> [u8; 16] {
        let [high, low] = [0, 1].map(|half| mix(u64::from(self.physical) * 2 + half));
        let mut uuid = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        // Version 4, variant 1: what tools expect of a UUID.
        uuid[6] = uuid[6] & 0x0f | 0x40;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }

    /// The UUID as tools write it: `GPU-` and five groups of digits.
    pub(crate) fn uuid_text(self) -> String {
        let digits = self.uuid().map(|byte| format!("{byte:02x}")).concat();
        let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
        format!("GPU-{}", groups.join("-"))
    }

    /// PCI domain, bus and device.
    pub(crate) fn pci(self) -> [u32; 3] {
        const BUSES: u32 = 200;
        [self.physical / BUSES, 0x10 + self.physical % BUSES, 0]
    }

    /// The PCI address as the driver writes it.
    pub(crate) fn pci_text(self) -> String {
        let [domain, bus, device] = self.pci();
        format!("{domain:04X}:{bus:02X}:{device:02X}.0")
    }
}

/// The finaliser of SplitMix64: a bijection, so no two devices share a UUID.
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_called_by_its_physical_number() {
        let device = DeviceId { ordinal: 0, physical: 3 };
        assert_eq!(device.name(), "Sluice software GPU 3");
        assert_eq!(device.pci_text(), "0000:13:00.0");
        assert_eq!(device.uuid_text().len(), "GPU-".len() + 36);
        assert_eq!(device.uuid(), DeviceId { ordinal: 7, physical: 3 }.uuid());
    }

    #[test]
    fn the_first_digits_of_a_uuid_tell_devices_apart() {
        let prefix = |physical| DeviceId { ordinal: 0, physical }.uuid_text()[..12].to_owned();
        let prefixes: std::collections::BTreeSet<_> = (0..256).map(prefix).collect();
        assert_eq!(prefixes.len(), 256);
    }
}
