//! Several GPUs: S27.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use nn::{Dropout, Forward, Linear, Module, ReLU, Sequential, sequential};
use parallel::DataParallel;
use semantics::{choose_driver, devices, is_scheduled};
use tensor::{Device, Result, Tensor, cuda};

fn model(device: Device) -> Result<Sequential> {
    let _seed = tensor::enter_manual_seed(3);
    let mut model = sequential![Linear::new(6, 16)?, ReLU, Linear::new(16, 3)?];
    model.to(device)?;
    Ok(model)
}

fn gradients(
    model: &impl Forward<Tensor, Output = Tensor>,
    x: &Tensor,
) -> Result<(Vec<f32>, Vec<Vec<f32>>)> {
    let y = model.forward(x)?;
    (&y * &y)?.sum(())?.backward()?;
    let parameters = model.parameters();
    let gradients = parameters.iter().map(|p| p.grad().expect("a leaf").to_vec());
    Ok((y.to_vec()?, gradients.collect::<Result<_>>()?))
}

fn assert_close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    for (l, r) in left.iter().zip(right) {
        assert!((l - r).abs() <= 1e-4 * (1.0 + r.abs()), "{l} and {r}");
    }
}

/// All devices, up to four.
fn all() -> Vec<Device> {
    (0..cuda::device_count().min(4)).map(Device::cuda_at).collect()
}

/// Where so many threads wait for each other.
#[derive(Debug, Default)]
struct Meeting {
    here: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Whether all have come, before everybody's patience ends.
    fn wait_for(&self, all: usize) -> bool {
        let mut here = self.here.lock().expect("not poisoned");
        *here += 1;
        self.changed.notify_all();
        let missing = |here: &mut usize| *here < all;
        let patience = Duration::from_secs(60);
        let waited = self.changed.wait_timeout_while(here, patience, missing);
        !waited.expect("not poisoned").1.timed_out()
    }
}

/// Meets the other replicas, on the host and on the devices, before it computes.
#[derive(Clone, Module)]
struct Sociable {
    linear: Linear,
    replicas: usize,
    #[module(skip)]
    on_the_host: Arc<Meeting>,
    #[module(skip)]
    on_the_devices: Arc<Meeting>,
    #[module(skip)]
    devices_take_turns: Arc<AtomicBool>,
    #[module(skip)]
    met: Arc<Mutex<Vec<(i64, i64, usize)>>>,
}

impl Forward for Sociable {
    type Output = Tensor;

    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let replicas = self.replicas;
        assert!(self.on_the_host.wait_for(replicas), "the replicas run one after the other");
        if !is_scheduled() {
            let meeting = Arc::clone(&self.on_the_devices);
            let take_turns = Arc::clone(&self.devices_take_turns);
            cuda::current_stream(input.device())?.add_callback(move || {
                take_turns.fetch_or(!meeting.wait_for(replicas), Ordering::Relaxed);
            })?;
        }
        let places = (input.get_device(), self.linear.weight().get_device());
        let met = (places.0, places.1, cuda::current_device()?);
        self.met.lock().expect("not poisoned").push(met);
        self.linear.forward(input)
    }
}

#[test]
pub(crate) fn s27_replicas_run_at_the_same_time_each_on_its_own_device() -> Result<()> {
    if !devices(2, s27_replicas_run_at_the_same_time_each_on_its_own_device) {
        return Ok(());
    }
    let devices = all();
    let mut linear = Linear::new(3, 2)?;
    linear.to(devices[0])?;
    let met = Arc::new(Mutex::new(Vec::new()));
    let devices_take_turns = Arc::new(AtomicBool::new(false));
    let model = Sociable {
        linear,
        replicas: devices.len(),
        on_the_host: Arc::default(),
        on_the_devices: Arc::default(),
        devices_take_turns: Arc::clone(&devices_take_turns),
        met: Arc::clone(&met),
    };
    let x = Tensor::ones([devices.len() * 2, 3], devices[0])?;
    let output = DataParallel::new(model, devices.clone())?.forward(&x)?;
    assert_eq!(output.to_vec::<f32>()?.len(), devices.len() * 4);
    assert!(!devices_take_turns.load(Ordering::Relaxed));
    let mut met = met.lock().expect("not poisoned").clone();
    met.sort_unstable();
    let expected: Vec<_> = (0..devices.len()).map(|at| (at as i64, at as i64, at)).collect();
    assert_eq!(met, expected, "where the input, the weight and the current device were");
    Ok(())
}

#[test]
pub(crate) fn s27_one_seed_gives_the_same_bits_whatever_runs_first() -> Result<()> {
    static FIRST: OnceLock<Vec<u32>> = OnceLock::new();
    if !devices(2, s27_one_seed_gives_the_same_bits_whatever_runs_first) {
        return Ok(());
    }
    let devices = all();
    let _seed = tensor::enter_manual_seed(5);
    let mut model = sequential![Linear::new(6, 8)?, Dropout::new(0.5)?];
    model.to(devices[0])?;
    let x = Tensor::randn([4 * devices.len(), 6], devices[0])?;
    let (output, gradients) = gradients(&DataParallel::new(model, devices)?, &x)?;
    let all = output.iter().chain(gradients.iter().flatten()).map(|number| number.to_bits());
    let bits: Vec<u32> = all.collect();
    assert_eq!(&bits, FIRST.get_or_init(|| bits.clone()));
    Ok(())
}

#[test]
pub(crate) fn s27_outputs_and_gradients_equal_one_devices() -> Result<()> {
    if !devices(2, s27_outputs_and_gradients_equal_one_devices) {
        return Ok(());
    }
    let devices = all();
    for batch in [1, 3, 4, 10] {
        let _seed = tensor::enter_manual_seed(11);
        let x = Tensor::randn([batch, 6], devices[0])?;
        let (alone, alone_gradients) = gradients(&model(devices[0])?, &x)?;
        let parallel = DataParallel::new(model(devices[0])?, devices.clone())?;
        let (together, together_gradients) = gradients(&parallel, &x)?;
        assert_close(&together, &alone);
        for (left, right) in together_gradients.iter().zip(&alone_gradients) {
            assert_close(left, right);
        }
        for parameter in parallel.parameters() {
            assert_eq!(parameter.grad().expect("a leaf").device(), devices[0]);
        }
    }
    Ok(())
}

#[test]
fn s27_with_one_device_or_none_it_is_transparent() -> Result<()> {
    choose_driver();
    for devices in [vec![], vec![Device::cuda_at(0)]] {
        let place = devices.first().copied().unwrap_or(Device::Cpu);
        let x = Tensor::ones([5, 6], place)?;
        let parallel = DataParallel::new(model(place)?, devices)?;
        let y = parallel.forward(&x)?;
        assert_eq!(y.device(), place);
        assert_close(&y.to_vec()?, &model(place)?.forward(&x)?.to_vec()?);
    }
    Ok(())
}

#[test]
fn s27_parameters_elsewhere_are_an_error_that_names_one() -> Result<()> {
    if !devices(2, s27_parameters_elsewhere_are_an_error_that_names_one) {
        return Ok(());
    }
    let error =
        DataParallel::new(model(Device::cuda_at(1))?, [Device::cuda_at(0), Device::cuda_at(1)])
            .expect_err("the parameters are not on the first device")
            .to_string();
    assert!(error.contains("cuda:1") && error.contains("cuda:0"), "{error}");
    Ok(())
}
