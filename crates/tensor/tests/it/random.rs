//! Random numbers: the same on every device, repeatable, and distributed as they should be.

use tensor::{
    DType, Device, ExecutionContext, GeneratorState, Result, Tensor, generator, manual_seed,
    with_manual_seed,
};

use crate::devices::{cuda_devices, for_each_device};

const COUNT: usize = 1000;

fn draws(device: Device) -> Result<Vec<Vec<f64>>> {
    with_manual_seed(42, || {
        let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
        let mut made = Vec::new();
        for dtype in floats {
            made.push(Tensor::rand([COUNT], (dtype, device))?);
            made.push(Tensor::randn([COUNT], (dtype, device))?);
            made.push(Tensor::empty([COUNT], (dtype, device))?.uniform_(-3.0, 2.5)?);
        }
        for dtype in DType::ALL {
            made.push(Tensor::randint(0, 2, [COUNT], (dtype, device))?);
            made.push(Tensor::empty([COUNT], (dtype, device))?.bernoulli_(0.3)?);
        }
        made.push(Tensor::randint(-5, 1 << 40, [COUNT], device)?);
        made.push(Tensor::randperm(COUNT, device)?);
        made.iter().map(|x| x.to(Device::Cpu)?.to(DType::F64)?.to_vec::<f64>()).collect()
    })
}

#[test]
fn one_seed_gives_the_same_numbers_on_every_device() -> Result<()> {
    let cpu = draws(Device::Cpu)?;
    for device in cuda_devices() {
        let cuda = draws(device)?;
        for (index, (a, b)) in cpu.iter().zip(&cuda).enumerate() {
            assert_eq!(a, b, "draw {index} on {device}");
        }
    }
    Ok(())
}

#[test]
fn a_seed_repeats_and_draws_differ() -> Result<()> {
    for_each_device(|device| {
        with_manual_seed(1, || {
            let first = Tensor::rand([8], device)?.to_vec::<f32>()?;
            let second = Tensor::rand([8], device)?.to_vec::<f32>()?;
            assert_ne!(first, second);
            generator(device)?.manual_seed(1);
            assert_eq!(Tensor::rand([8], device)?.to_vec::<f32>()?, first);
            generator(device)?.set_state(GeneratorState { seed: 1, draws: 1 });
            assert_eq!(Tensor::rand([8], device)?.to_vec::<f32>()?, second);
            Ok(())
        })
    })
}

#[test]
fn one_call_seeds_the_generators_of_all_devices() {
    test_support::isolate(|| {
        let devices = [Device::Cpu, cuda_devices()[0]];
        let draw =
            |device| Tensor::rand([4], device).and_then(|x| x.to_vec::<f32>()).expect("drawn");
        // The one is in use before the seed, the other only afterwards.
        draw(devices[0]);
        manual_seed(9);
        assert_eq!(draw(devices[0]), draw(devices[1]));
    })
    .run();
}

#[test]
fn threads_draw_from_the_scope_that_they_enter() -> Result<()> {
    let alone = with_manual_seed(4, || Tensor::rand([2], ())?.to_vec::<f32>())?;
    let context = with_manual_seed(4, ExecutionContext::capture);
    let child = std::thread::spawn(move || {
        let _as_parent = context.enter();
        Tensor::rand([2], ())?.to_vec::<f32>()
    });
    assert_eq!(child.join().expect("no panic")?, alone);
    Ok(())
}

#[test]
fn distributions_have_their_mean_and_spread() -> Result<()> {
    let moments = |x: &Tensor| -> Result<(f64, f64)> {
        let values = x.to_vec::<f64>()?;
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let spread = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        Ok((mean, spread.sqrt()))
    };
    with_manual_seed(5, || {
        let (mean, spread) = moments(&Tensor::rand([20_000], DType::F64)?)?;
        assert!((mean - 0.5).abs() < 0.01 && (spread - 1.0 / 12f64.sqrt()).abs() < 0.01);
        let x = Tensor::empty([20_000], DType::F64)?.normal_(3.0, 2.0)?;
        let (mean, spread) = moments(&x)?;
        assert!((mean - 3.0).abs() < 0.06 && (spread - 2.0).abs() < 0.06, "{mean} {spread}");
        let (mean, _) = moments(&Tensor::empty([20_000], DType::F64)?.bernoulli_(0.25)?)?;
        assert!((mean - 0.25).abs() < 0.02, "{mean}");
        Ok(())
    })
}

#[test]
fn randperm_is_a_permutation() -> Result<()> {
    for_each_device(|device| {
        let mut order = Tensor::randperm(100, device)?.to_vec::<i64>()?;
        assert_ne!(order, (0..100).collect::<Vec<_>>(), "one in 100! is the identity");
        order.sort_unstable();
        assert_eq!(order, (0..100).collect::<Vec<_>>());
        Ok(())
    })
}

#[test]
fn a_view_is_filled_without_touching_its_neighbours() -> Result<()> {
    for_each_device(|device| {
        let x = Tensor::full([4, 4], 9.0, device)?;
        x.narrow(1, 1, 2)?.uniform_(0.0, 1.0)?;
        for (position, value) in x.to_vec::<f32>()?.into_iter().enumerate() {
            let inside = (1..3).contains(&(position % 4));
            assert_eq!(inside, value < 1.0, "{value} at {position}");
        }
        Ok(())
    })
}

#[test]
fn arguments_that_make_no_distribution_are_errors() -> Result<()> {
    let x = Tensor::zeros([2], ())?;
    assert!(x.uniform_(1.0, 0.0).is_err());
    assert!(x.normal_(0.0, -1.0).is_err());
    assert!(x.bernoulli_(1.5).is_err());
    assert!(x.random_(3, 3).is_err());
    assert!(Tensor::randint(0, 300, [2], DType::U8).is_err(), "256 does not fit a byte");
    assert!(Tensor::rand([2], DType::I64).is_err(), "integers are not uniform in [0, 1)");
    assert_eq!(x.to_vec::<f32>()?, [0.0, 0.0]);
    Ok(())
}
