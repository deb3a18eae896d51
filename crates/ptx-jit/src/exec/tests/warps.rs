//! Operations of warps in kernels.

use super::harness::{at_each_level, corpus};

#[test]
fn votes_matches_and_shuffles_see_the_whole_warp() {
    at_each_level(corpus!("warp"), |device| {
        let values: Vec<u32> = (0..32).map(|lane| (lane * 13 + 7) % 100).collect();
        let (input, output) = (device.upload(&values), device.allocate(32 * 32));
        device.launch("votes", [1, 1, 1], [32, 1, 1], 0, &[&input, &output]).expect("no fault");
        let results: Vec<u32> = device.download(output);
        let mask = |holds: &dyn Fn(u32) -> bool| -> u32 {
            (0..32).filter(|&lane| holds(values[lane])).map(|lane| 1 << lane).sum()
        };
        for (lane, result) in results.chunks(8).enumerate() {
            let own = values[lane];
            let expected = [
                mask(&|value| value & 1 != 0),
                1,
                1,
                mask(&|value| value % 3 == own % 3),
                u32::MAX,
                1,
                values[lane ^ 5],
                values[lane / 8 * 8 + (lane + 1) % 8],
            ];
            assert_eq!(result, expected);
        }
    });
}

#[test]
fn the_halves_of_a_warp_may_go_different_ways() {
    at_each_level(corpus!("warp"), |device| {
        let values: Vec<i32> = (0..32).map(|lane| lane * lane).collect();
        let (input, output) = (device.upload(&values), device.allocate(64 * 4));
        device.launch("divergent", [1, 1, 1], [32, 1, 1], 0, &[&input, &output]).expect("no fault");
        let result: Vec<i32> = device.download(output);
        let mut odd = values.clone();
        for _ in 0..3 {
            odd = (0..32)
                .map(|lane| odd[lane] + odd[if lane >= 2 { lane - 2 } else { lane }])
                .collect();
        }
        for lane in 0..32 {
            let expected = if lane % 2 == 1 { odd[lane] } else { -values[4] };
            assert_eq!(result[lane], expected, "lane {lane}");
            assert_eq!(result[32 + lane], result[31 - lane]);
        }
    });
}

#[test]
fn members_may_become_fewer() {
    at_each_level(corpus!("warp"), |device| {
        let output = device.allocate(32 * 4);
        device.launch("shrinking", [1, 1, 1], [32, 1, 1], 0, &[&output]).expect("no fault");
        let expected: Vec<i32> = (0..32).map(|lane| lane + (lane..31).sum::<i32>()).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}

#[test]
fn a_warp_may_have_fewer_lanes() {
    at_each_level(corpus!("warp"), |device| {
        let output = device.allocate(20 * 4);
        device.launch("partial", [1, 1, 1], [20, 1, 1], 0, &[&output]).expect("no fault");
        let expected: Vec<i32> =
            (0..20).map(|lane| 20 + if lane < 19 { lane + 1 } else { lane }).collect();
        assert_eq!(device.download::<i32>(output), expected);
    });
}
