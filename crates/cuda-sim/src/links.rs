//! The links that copies go over, between the host and devices and between devices, and which of
//! them are slow or broken on demand.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RwLock;

use crate::config::{Link, PeerFault};

/// The memory in which the bytes of a copy reside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Residence {
    /// In the memory of the device of that ordinal.
    Device(usize),
    /// In page-locked host memory.
    Pinned,
    /// In any other host memory.
    Pageable,
}

/// The links that are not as they should be.
#[derive(Default)]
struct Links {
    slow: Vec<(Link, u32)>,
    broken: Vec<(Link, PeerFault)>,
}

static LINKS: RwLock<Links> = RwLock::new(Links { slow: Vec::new(), broken: Vec::new() });

/// Whether any link is not as it should be: nothing is looked up as long as none is.
static ANY: AtomicBool = AtomicBool::new(false);

impl Link {
    /// The way between two places, if it can be slow or broken.
    fn between(one: Residence, other: Residence) -> Option<Link> {
        match (one, other) {
            (Residence::Device(one), Residence::Device(other)) if one == other => None,
            (Residence::Device(one), Residence::Device(other)) => Some(Link::Devices(one, other)),
            (Residence::Device(device), _) | (_, Residence::Device(device)) => {
                Some(Link::Host(device))
            }
            _ => None,
        }
    }

    fn is(self, other: Link) -> bool {
        match (self, other) {
            (Link::Devices(a, b), Link::Devices(c, d)) => (a, b) == (c, d) || (a, b) == (d, c),
            (one, other) => one == other,
        }
    }
}

/// Makes a way take so many times as long.
pub(crate) fn slow_down(link: Link, times: u32) {
    let mut links = LINKS.write();
    links.slow.retain(|(known, _)| !known.is(link));
    links.slow.push((link, times));
    ANY.store(true, Ordering::Release);
}

/// Breaks a way.
pub(crate) fn break_up(link: Link, fault: PeerFault) {
    let mut links = LINKS.write();
    links.broken.retain(|(known, _)| !known.is(link));
    links.broken.push((link, fault));
    ANY.store(true, Ordering::Release);
}

/// Makes all ways as new.
pub(crate) fn mend() {
    let mut links = LINKS.write();
    *links = Links::default();
    ANY.store(false, Ordering::Release);
}

/// The factor by which the link between two places is slower than it should be.
pub(crate) fn slowness(one: Residence, other: Residence) -> u64 {
    let find = |links: &Links, link: Link| {
        links.slow.iter().find(|(known, _)| known.is(link)).map(|&(_, times)| u64::from(times))
    };
    look_up(one, other, find).unwrap_or(1)
}

/// The way in which the link between two devices is broken, if it is.
pub(crate) fn broken(one: usize, other: usize) -> Option<PeerFault> {
    look_up(Residence::Device(one), Residence::Device(other), |links, link| {
        links.broken.iter().find(|(known, _)| known.is(link)).map(|&(_, fault)| fault)
    })
}

fn look_up<R>(
    one: Residence,
    other: Residence,
    find: impl Fn(&Links, Link) -> Option<R>,
) -> Option<R> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let link = Link::between(one, other)?;
    find(&LINKS.read(), link)
}
