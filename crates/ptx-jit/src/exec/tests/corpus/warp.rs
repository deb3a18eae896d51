//! Operations of a warp.

use super::{integers, launch, numbers, on_each, run};

#[test]
fn shuffles_move_every_type_in_every_way() {
    on_each!("warp", |device| {
        let inputs: Vec<f64> = numbers(32, 3).into_iter().map(|x| x * 100.0).collect();
        let place = device.upload(&inputs);
        let got: Vec<f64> = run(device, "shuffles", 32, &[&place], 9 * 32);
        let half = |x: f64| ::half::f16::from_f64(x).to_f64();
        for (t, got) in got.chunks(9).enumerate() {
            let at = |lane: usize| inputs[lane];
            let expected = [
                at(3),
                at(if t >= 2 { t - 2 } else { t }),
                at(if t < 30 { t + 2 } else { t }),
                at(t ^ 7),
                f64::from(at(if t % 8 >= 3 { t - 3 } else { t }) as f32),
                f64::from(at(if t % 4 < 3 { t + 1 } else { t }) as i32),
                (at(t ^ 1) as i64) as f64,
                half(at(t / 16 * 16 + t * 5 % 16)),
                half(f64::from(at(t ^ 16) as f32)),
            ];
            assert_eq!(got, expected, "lane {t}");
        }
    });
}

#[test]
fn matches_find_the_same_values() {
    on_each!("warp", |device| {
        let inputs: Vec<u64> = (0..32).map(|lane| ((lane * lane % 5) << 35) | (lane % 3)).collect();
        let place = device.upload(&inputs);
        let got: Vec<u32> = run(device, "matches", 32, &[&place], 5 * 32);
        let mask = |same: &dyn Fn(u64) -> bool| -> u32 {
            (0..32).filter(|&lane| same(inputs[lane])).map(|lane| 1 << lane).sum()
        };
        for (&own, got) in inputs.iter().zip(got.chunks(5)) {
            let expected =
                [mask(&|x| x == own), 0, 0, mask(&|x| x & 3 == own & 3), u32::MAX.wrapping_add(1)];
            assert_eq!(got, expected);
        }
    });
}

#[test]
fn reductions_of_a_warp_reach_all_lanes() {
    on_each!("warp", |device| {
        let inputs = integers(32, 4);
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "redux", 32, &[&place], 8 * 32);
        let all = || inputs.iter().copied();
        let words = || inputs.iter().map(|&x| x as u32);
        let expected = [
            all().fold(0, i32::wrapping_add),
            all().min().unwrap(),
            all().max().unwrap(),
            words().min().unwrap() as i32,
            words().max().unwrap() as i32,
            all().map(|x| x | 0xf0).fold(-1, |a, b| a & b),
            all().map(|x| x & 0xff).fold(0, |a, b| a | b),
            all().fold(0, |a, b| a ^ b),
        ];
        got.chunks(8).for_each(|got| assert_eq!(got, expected));
    });
}

#[test]
fn lanes_that_are_here_take_places_together() {
    on_each!("warp", |device| {
        let inputs = integers(128, 5);
        let (place, counter) = (device.upload(&inputs), device.upload(&[100u32]));
        let got: Vec<u32> = run(device, "aggregated", 128, &[&place, &counter], 128);
        let positive = inputs.iter().filter(|&&x| x > 0).count() as u32;
        assert_eq!(device.download::<u32>(counter), [100 + positive]);
        let chosen = inputs.iter().zip(&got).filter(|&(&x, _)| x > 0);
        let mut places: Vec<u32> = chosen.map(|(_, &place)| place).collect();
        places.sort_unstable();
        assert_eq!(places, (100..100 + positive).collect::<Vec<_>>());
    });
}

#[test]
fn tiles_reduce_among_themselves() {
    on_each!("warp", |device| {
        let inputs: Vec<i32> = integers(64, 6).into_iter().map(|x| x % 1000).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "tiles", 64, &[&place], 4 * 64);
        for (t, got) in got.chunks(4).enumerate() {
            let tile = &inputs[t / 8 * 8..][..8];
            let odd: i32 = (0..8).filter(|&at| tile[at] & 1 != 0).map(|at| 1 << at).sum();
            let expected = [
                tile.iter().sum::<i32>() + t as i32 / 8,
                *tile.iter().max().unwrap(),
                tile[0],
                odd,
            ];
            assert_eq!(got, expected, "thread {t}");
        }
    });
}

#[test]
fn coalesced_groups_are_numbered() {
    on_each!("warp", |device| {
        let inputs: Vec<i32> = (0..32).map(|t| t * t % 7 * 3 + 1).collect();
        let place = device.upload(&inputs);
        let got: Vec<i32> = run(device, "coalesced", 32, &[&place], 64);
        let members: Vec<usize> = (0..32).filter(|&t| inputs[t] & 1 != 0).collect();
        let last = inputs[*members.last().unwrap()];
        for (rank, &t) in members.iter().enumerate() {
            assert_eq!(got[2 * t..][..2], [members.len() as i32, last * 100 + rank as i32]);
        }
    });
}

#[test]
fn one_lane_is_elected_and_lanes_know_who_they_are() {
    on_each!("warp", |device| {
        let got: Vec<u32> = run(device, "elected", 32, &[], 32);
        assert_eq!(got, (0..32).map(|t| if t == 0 { 10 } else { 0 }).collect::<Vec<_>>());
        let got: Vec<u32> = run(device, "lanes", 70, &[], 6 * 70);
        for (t, got) in got.chunks(6).enumerate() {
            let lane = t as u32 % 32;
            let equal = 1u32 << lane;
            assert_eq!(got, [lane, equal, equal - 1, !(equal - 1), t as u32 / 32, 3]);
        }
    });
}

#[test]
fn lanes_on_ways_of_their_own_meet_again() {
    on_each!("warp", |device| {
        let inputs: Vec<i32> = integers(32, 7).into_iter().map(|x| x.rem_euclid(40)).collect();
        let (place, out) = (device.upload(&inputs), device.allocate(33 * 4));
        launch(device, "ways", [1, 32], &[&place, &out]);
        let way = |t: i32, v: i32| {
            let mut sum = 0i32;
            for i in 0..v {
                sum += i * t;
                if sum > 100 && i & 1 != 0 {
                    continue;
                }
                if sum > 1000 {
                    break;
                }
                sum ^= i;
            }
            sum
        };
        let total: i32 = (0..32).map(|t| way(t, inputs[t as usize])).sum();
        let got: Vec<i32> = device.download(out);
        assert_eq!(got[0], total);
        let any = i32::from(inputs.contains(&5));
        assert!(got[1..].iter().all(|&votes| votes == any + 2));
    });
}
