//! Places on the PCI bus, as programs write them.

/// A device's place: `domain:bus:device.function`, numbers in base 16. Programs write the domain with
/// four digits or with eight, or leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BusAddress {
    domain: u32,
    bus: u32,
    device: u32,
    function: u32,
}

impl BusAddress {
    /// Reads an address; none if it is not one.
    pub(crate) fn parse(text: &str) -> Option<BusAddress> {
        let number = |digits: &str| u32::from_str_radix(digits, 16).ok();
        let (place, function) = text.split_once('.').unwrap_or((text, "0"));
        let (buses, device) = place.rsplit_once(':')?;
        let (domain, bus) = buses.split_once(':').unwrap_or(("0", buses));
        Some(BusAddress {
            domain: number(domain)?,
            bus: number(bus)?,
            device: number(device)?,
            function: number(function)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_long_its_domain_is_written() {
        let address = BusAddress { domain: 0, bus: 0x1a, device: 2, function: 0 };
        for text in ["0000:1a:02.0", "00000000:1A:02.0", "1A:02.0", "1a:02"] {
            assert_eq!(BusAddress::parse(text), Some(address), "{text}");
        }
        assert_ne!(BusAddress::parse("0001:1a:02.0"), Some(address));
    }

    #[test]
    fn a_text_that_is_no_address_is_none() {
        for text in ["", "1a", "zz:02.0", "0:0:0:0.0", "1a:02.x"] {
            assert_eq!(BusAddress::parse(text), None, "{text}");
        }
    }
}
