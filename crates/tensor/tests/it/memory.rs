//! Who holds the memory of tensors, as snapshots and errors name them.

use tensor::{Result, Tensor, cuda};

use crate::devices::cuda_devices;

#[test]
fn the_memory_of_tensors_is_held_by_the_lines_that_made_them() -> Result<()> {
    for (index, device) in cuda_devices().into_iter().enumerate() {
        let _tag = cuda::memory_tag("by the lines that made them");
        let (first, ones) = (line!(), Tensor::ones([100, 3], device)?);
        let (second, sum) = (line!(), (&ones + &ones)?);
        let (third, rows) = (line!(), sum.softmax(1)?);
        let (fourth, total) = (line!(), rows.sum(())?);
        let snapshot = cuda::memory_snapshot()?;
        let segments = snapshot.segments.iter().filter(|segment| segment.device == index);
        let blocks = segments.flat_map(|segment| &segment.blocks);
        let ours =
            blocks.filter(|block| block.tag.as_deref() == Some("by the lines that made them"));
        let mut places: Vec<_> =
            ours.map(|block| (&*block.frames[0].filename, block.frames[0].line)).collect();
        places.sort_unstable();
        let lines = [first, second, third, fourth];
        assert_eq!(places, lines.map(|line| (file!(), u64::from(line))));
        drop((ones, sum, rows, total));
    }
    Ok(())
}
