//! What would have to be released for a request to succeed.

use crate::policy::Address;

/// The page in which expandable segments give memory back.
const PAGE: u64 = 2 << 20;

/// A device's memory, as far as it matters to one request.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) segments: Vec<Stretch>,
    /// What the driver would still give.
    pub(super) room: u64,
    /// The size of a block that would serve the request.
    pub(super) block: u64,
    /// What the driver would be asked for otherwise.
    pub(super) segment: u64,
}

/// A segment.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) address: Address,
    /// Whether the request may have a part of it.
    pub(super) serves: bool,
    pub(super) gives_back: GivesBack,
    /// Its blocks, in order: the bytes, and who has them.
    pub(super) parts: Vec<(u64, Owner)>,
}

/// What of a segment goes back to the driver where it is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GivesBack {
    Nothing,
    Whole,
    Pages,
}

/// Who has a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Nobody,
    /// Work that still uses it, though it was freed.
    Work,
    /// A holder, by number.
    Holder(usize),
    /// Somebody whom nothing is known of.
    Unknown,
}

impl Memory {
    /// Whether the request would succeed if the memory of those owners were free.
    pub(super) fn fits(&self, released: impl Fn(Owner) -> bool) -> bool {
        let mut room = self.room;
        for stretch in &self.segments {
            let (mut at, mut run, mut is_whole) = (stretch.address.0, 0_u64, true);
            // The end closes the last run.
            let ends = stretch.parts.iter().copied().chain([(0, Owner::Unknown)]);
            for (index, (bytes, owner)) in ends.enumerate() {
                if owner == Owner::Nobody || released(owner) {
                    run = run.saturating_add(bytes);
                } else {
                    if stretch.serves && run >= self.block {
                        return true;
                    }
                    if stretch.gives_back == GivesBack::Pages {
                        room = room.saturating_add(pages(at - run, at));
                    }
                    run = 0;
                    is_whole &= index == stretch.parts.len();
                }
                at = at.saturating_add(bytes);
            }
            if is_whole && stretch.gives_back == GivesBack::Whole {
                room = room.saturating_add(at - stretch.address.0);
            }
        }
        room >= self.segment
    }

    /// The fewest of `holders`, given by their bytes, whose release would do, and of those the least
    /// memory; see [`OutOfMemory::enough_to_release`](super::OutOfMemory::enough_to_release).
    pub(super) fn enough(&self, holders: &[u64]) -> Vec<usize> {
        let parts: usize = self.segments.iter().map(|stretch| stretch.parts.len()).sum();
        let mut by_bytes: Vec<_> = (0..holders.len()).collect();
        by_bytes.sort_by_key(|holder| (holders[*holder], *holder));
        let fits = |set: &[usize]| {
            self.fits(|owner| matches!(owner, Owner::Holder(one) if set.contains(&one)))
        };
        if let Some(one) = by_bytes.iter().find(|one| fits(&[**one])) {
            return vec![*one];
        }
        let pairs = by_bytes.len().saturating_mul(by_bytes.len()) / 2;
        if pairs.saturating_mul(parts) <= MOST_LOOKS {
            let pairs = by_bytes.iter().enumerate().flat_map(|(index, second)| {
                by_bytes[..index].iter().map(move |first| [*first, *second])
            });
            let least = pairs
                .filter(|pair| fits(pair))
                .min_by_key(|pair| holders[pair[0]].saturating_add(holders[pair[1]]));
            if let Some(pair) = least {
                return pair.to_vec();
            }
        }
        self.enough_of_many(&by_bytes, holders.len())
    }

    /// Releases those who hold the most until that does, and then leaves out whom it does without.
    fn enough_of_many(&self, by_bytes: &[usize], count: usize) -> Vec<usize> {
        let mut released = vec![false; count];
        let fits = |released: &[bool]| {
            self.fits(|owner| matches!(owner, Owner::Holder(one) if released[one]))
        };
        let needed = by_bytes.iter().rev().position(|one| {
            released[*one] = true;
            fits(&released)
        });
        if needed.is_none() {
            return Vec::new();
        }
        for one in by_bytes {
            if std::mem::replace(&mut released[*one], false) && !fits(&released) {
                released[*one] = true;
            }
        }
        (0..count).filter(|one| released[*one]).collect()
    }
}

/// How many blocks are looked at to find the best pair, so that an error does not take seconds.
const MOST_LOOKS: usize = 50_000_000;

/// The bytes of the pages that lie in a range of addresses as a whole.
fn pages(from: u64, to: u64) -> u64 {
    let first = from.div_ceil(PAGE);
    (to / PAGE).saturating_sub(first) * PAGE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: u64 = 1 << 20;

    fn memory(segments: &[&[(u64, Owner)]], room: u64, block: u64) -> Memory {
        let stretch = |parts: &&[(u64, Owner)]| Stretch {
            address: Address(0),
            serves: true,
            gives_back: GivesBack::Whole,
            parts: parts.to_vec(),
        };
        Memory { segments: segments.iter().map(stretch).collect(), room, block, segment: block }
    }

    #[test]
    fn a_run_between_released_neighbours_serves() {
        let parts = [(3, Owner::Nobody), (4, Owner::Holder(0)), (3, Owner::Holder(1))];
        let memory = memory(&[&parts], 0, 7);
        assert!(!memory.fits(|_| false));
        assert!(memory.fits(|owner| owner == Owner::Holder(0)));
        assert!(!memory.fits(|owner| owner == Owner::Holder(1)));
        assert_eq!(memory.enough(&[4, 3]), [0]);
    }

    #[test]
    fn whole_segments_go_back_to_the_driver_and_parts_do_not() {
        let (one, two) = ([(4, Owner::Holder(0)), (4, Owner::Nobody)], [(4, Owner::Holder(1))]);
        let memory = memory(&[&one, &two], 2, 14);
        assert_eq!(memory.enough(&[4, 4]), [0, 1]);
        assert!(!memory.fits(|owner| owner == Owner::Holder(0)));
    }

    #[test]
    fn expandable_segments_give_back_whole_pages() {
        let parts =
            vec![(3 * MIB, Owner::Unknown), (5 * MIB, Owner::Nobody), (MIB, Owner::Unknown)];
        let stretch =
            Stretch { address: Address(0), serves: false, gives_back: GivesBack::Pages, parts };
        let fits = |segment| {
            let segments = vec![Stretch { parts: stretch.parts.clone(), ..stretch }];
            Memory { segments, room: 0, block: 4 * MIB, segment }.fits(|_| false)
        };
        assert!(fits(4 * MIB) && !fits(4 * MIB + 1));
    }

    #[test]
    fn nothing_is_enough_where_others_have_the_memory() {
        let memory = memory(&[&[(4, Owner::Holder(0)), (4, Owner::Unknown)]], 0, 5);
        assert_eq!(memory.enough(&[4]), Vec::<usize>::new());
    }

    fn owner() -> impl Strategy<Value = Owner> {
        prop_oneof![
            2 => Just(Owner::Nobody),
            1 => Just(Owner::Unknown),
            5 => (0_usize..6).prop_map(Owner::Holder),
        ]
    }

    proptest! {
        #[test]
        fn no_smaller_set_would_do(
            segments in prop::collection::vec(
                prop::collection::vec((1_u64..5, owner()), 1..8), 1..5),
            room in 0_u64..4,
            block in 4_u64..24,
        ) {
            let parts: Vec<_> = segments.iter().map(Vec::as_slice).collect();
            let memory = memory(&parts, room, block);
            prop_assume!(!memory.fits(|_| false));
            let mut held = [0; 6];
            for (bytes, owner) in segments.iter().flatten() {
                if let Owner::Holder(one) = owner {
                    held[*one] += bytes;
                }
            }
            let enough = memory.enough(&held);
            let fits = |set: u32| {
                memory.fits(|owner| matches!(owner, Owner::Holder(one) if set >> one & 1 == 1))
            };
            let found = enough.iter().fold(0_u32, |set, one| set | 1 << one);
            let all = (0_u32..64).filter(|set| fits(*set));
            let fewest = all.map(u32::count_ones).min();
            match fewest {
                None => prop_assert_eq!(found, 0),
                Some(fewest) => {
                    prop_assert!(fits(found));
                    prop_assert!(enough.iter().all(|one| !fits(found & !(1 << one))));
                    prop_assert!(fewest > 2 || enough.len() as u32 == fewest);
                }
            }
        }
    }
}
