//! Joining tensors: on CUDA many of them in one launch.

use tensor::{DType, Device, Result, Tensor};

use crate::devices::{cuda_devices, for_each_kind};
use crate::launches::LaunchCounter;

/// Tensors of 3 rows and 1 to 9 columns, some of them beside memory of others, on addresses that are
/// multiples of no more than their dtype.
fn pieces(count: usize, dtype: DType, device: Device) -> Result<Vec<Tensor>> {
    let piece = |number: usize| {
        let (rows, columns) = (3, number * 5 % 9 + 1);
        let start = (number * 37 % 90) as i64;
        let all = Tensor::arange(start..start + (rows * columns + 1) as i64, (dtype, device))?;
        let dense = all.narrow(0, number % 2, rows * columns)?;
        match number % 7 {
            3 => dense.reshape([columns as isize, rows as isize])?.t(),
            _ => dense.reshape([rows as isize, columns as isize]),
        }
    };
    (0..count).map(piece).collect()
}

#[test]
fn tensors_are_joined_as_on_the_cpu_however_many_and_however_they_lie() -> Result<()> {
    for_each_kind(|device| {
        for dtype in [DType::U8, DType::F16, DType::F32, DType::F64] {
            for count in [1, 2, 63, 64, 65, 200] {
                let (there, here) =
                    (pieces(count, dtype, device)?, pieces(count, dtype, Device::Cpu)?);
                let joined = Tensor::cat(&there, 1)?.to(DType::F64)?.to_vec::<f64>()?;
                let expected = Tensor::cat(&here, 1)?.to(DType::F64)?.to_vec::<f64>()?;
                assert_eq!(joined, expected, "{count} of {dtype} on {device}");
                let flat = |pieces: &[Tensor]| {
                    let rows = pieces.iter().map(|piece| piece.t()).collect::<Result<Vec<_>>>()?;
                    Tensor::cat(&rows, 0)?.to(DType::F64)?.to_vec::<f64>()
                };
                assert_eq!(flat(&there)?, flat(&here)?, "{count} of {dtype} on {device}");
            }
        }
        Ok(())
    })
}

#[test]
fn tensors_of_other_dtypes_and_layouts_go_between_the_others() -> Result<()> {
    for_each_kind(|device| {
        let integers = Tensor::arange(6, device)?.reshape([2, 3])?;
        let floats = (&integers.to(DType::F32)? + 0.5)?;
        let turned = Tensor::arange(6, (DType::F32, device))?.reshape([3, 2])?.t()?;
        let nothing = Tensor::zeros([0], (DType::F32, device))?;
        let joined = Tensor::cat([&floats, &integers, &nothing, &turned, &floats], 1)?;
        assert_eq!((joined.shape(), joined.dtype()), (&[2, 12][..], DType::F32));
        let expected: [f32; 24] = [
            0.5, 1.5, 2.5, 0., 1., 2., 0., 2., 4., 0.5, 1.5, 2.5, //
            3.5, 4.5, 5.5, 3., 4., 5., 1., 3., 5., 3.5, 4.5, 5.5,
        ];
        assert_eq!(joined.to_vec::<f32>()?, expected, "{device}");
        Ok(())
    })
}

#[test]
fn many_tensors_on_a_device_are_joined_by_one_launch_for_every_64() -> Result<()> {
    let device = cuda_devices()[0];
    let tensors =
        (0..200).map(|n| Tensor::full([n], n as f32, device)).collect::<Result<Vec<_>>>()?;
    let launches = LaunchCounter::new(device)?;
    assert_eq!(launches.of(|| Tensor::cat(&tensors[1..3], 0))?, 1);
    assert_eq!(launches.of(|| Tensor::cat(&tensors[1..65], 0))?, 1);
    assert_eq!(launches.of(|| Tensor::cat(&tensors, 0))?, 4);
    let layers = vec![Tensor::zeros([2, 3], device)?; 10];
    assert_eq!(launches.of(|| Tensor::stack(&layers, 1))?, 1);
    Ok(())
}
