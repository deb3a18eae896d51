//! The ways between places: slow ones and broken ones.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use super::fault::{Link, PeerFault};
use crate::time::{Site, TimeModel};

#[derive(Default)]
struct Links {
    slow: Vec<(Link, u32)>,
    broken: Vec<(Link, PeerFault)>,
}

static LINKS: RwLock<Links> = RwLock::new(Links { slow: Vec::new(), broken: Vec::new() });

/// So that nothing is looked up as long as all is well.
static ANY: AtomicBool = AtomicBool::new(false);

impl Link {
    /// The way between two places, if it can be slow or broken.
    fn between(one: Site, other: Site) -> Option<Link> {
        match (one, other) {
            (Site::Device(one), Site::Device(other)) if one == other => None,
            (Site::Device(one), Site::Device(other)) => Some(Link::Devices(one, other)),
            (Site::Device(device), _) | (_, Site::Device(device)) => Some(Link::Host(device)),
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
pub(super) fn slow_down(link: Link, times: u32) {
    let mut links = LINKS.write().unwrap_or_else(PoisonError::into_inner);
    links.slow.retain(|(known, _)| !known.is(link));
    links.slow.push((link, times));
    ANY.store(true, Ordering::Release);
}

/// Breaks a way.
pub(super) fn break_up(link: Link, fault: PeerFault) {
    let mut links = LINKS.write().unwrap_or_else(PoisonError::into_inner);
    links.broken.retain(|(known, _)| !known.is(link));
    links.broken.push((link, fault));
    ANY.store(true, Ordering::Release);
}

/// Makes all ways as new.
pub(super) fn mend() {
    let mut links = LINKS.write().unwrap_or_else(PoisonError::into_inner);
    *links = Links::default();
    ANY.store(false, Ordering::Release);
}

/// How many times as long the way between two places takes.
pub(crate) fn slowness(one: Site, other: Site) -> u64 {
    let find = |links: &Links, link: Link| {
        links.slow.iter().find(|(known, _)| known.is(link)).map(|&(_, times)| u64::from(times))
    };
    look_up(one, other, find).unwrap_or(1)
}

/// How the way between two devices is broken.
pub(crate) fn broken(one: usize, other: usize) -> Option<PeerFault> {
    look_up(Site::Device(one), Site::Device(other), |links, link| {
        links.broken.iter().find(|(known, _)| known.is(link)).map(|&(_, fault)| fault)
    })
}

/// How much longer than it does anyway a copy is to take in real time.
pub(crate) fn delay(one: Site, other: Site, bytes: u64) -> Duration {
    let more = slowness(one, other) - 1;
    if more == 0 || crate::time::is_virtual() {
        return Duration::ZERO;
    }
    let once = TimeModel::H200.copy(one, other, bytes);
    Duration::from_nanos(once.saturating_mul(more))
}

fn look_up<R>(one: Site, other: Site, find: impl Fn(&Links, Link) -> Option<R>) -> Option<R> {
    if !ANY.load(Ordering::Acquire) {
        return None;
    }
    let link = Link::between(one, other)?;
    find(&LINKS.read().unwrap_or_else(PoisonError::into_inner), link)
}
