//! Training on many devices, as figures: S28.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cuda_sim::control::{self, Config, KernelWork, OperationId, Time, TimeModel, configure};
use gpu_runtime::{DriverChoice, Function, LaunchConfig};
use nn::Module;
use nn::optim::SGD;
use parallel::Replicas;

use tensor::cuda;
use tensor::{AutogradFunction, BackwardContext, CudaView, Device, ForwardContext, Result, Tensor};
use test_support::isolate;

/// As many as are connected directly in machines that there are.
const EIGHT: usize = 8;
/// Tensors are smaller than those of the network by this factor, and so are buckets and bandwidths.
const SCALE: u64 = 256;
/// Twelve layers of 7 million parameters each, as of a transformer of width 768, and the times of their
/// kernels for 8,192 tokens.
const LAYERS: usize = 12;
const PARAMETERS: usize = 7 << 20;
const FORWARD: Duration = Duration::from_micros(700);
const BACKWARD: Duration = Duration::from_micros(1400);
/// The steps before those that are measured, and these.
const SKIPPED: usize = 2;
const MEASURED: usize = 2;

/// Does nothing, for so many nanoseconds.
const IDLE: &str = ".version 6.3\n.target sm_75\n.address_size 64\n\
    .visible .entry idle(.param .u64 nanoseconds) { ret; }\0";

#[derive(Clone, Module)]
struct Network {
    weights: Vec<Tensor>,
    #[module(skip)]
    idle: Arc<Vec<Function>>,
}

/// A layer: kernels that only cost time, and gradients of the right size.
struct Layer(Arc<Vec<Function>>);

impl Layer {
    fn run(&self, time: Duration, uses: &[CudaView<'_>], on: &Tensor) -> Result<()> {
        let Device::Cuda(Some(index)) = on.device() else { return Ok(()) };
        let stream = cuda::current_stream(on.device())?;
        CudaView::enqueue(&stream, uses, || {
            let one = LaunchConfig::new([1, 1, 1], [1, 1, 1]);
            // SAFETY: the kernel takes a number and touches no memory.
            unsafe { self.0[index].launch(&stream, one, (time.as_nanos() as u64,)) }
        })
    }
}

impl AutogradFunction for Layer {
    fn name(&self) -> &'static str {
        "layer"
    }

    fn forward(&self, context: &mut ForwardContext, inputs: &[&Tensor]) -> Result<Vec<Tensor>> {
        let output = inputs[0].empty_like()?;
        let uses = [inputs[0].cuda_read()?, inputs[1].cuda_read()?, output.cuda_write()?];
        self.run(FORWARD, &uses, &output)?;
        context.save_for_backward(inputs);
        Ok(vec![output])
    }

    fn backward(
        &self,
        context: &BackwardContext<'_>,
        gradients: &[Option<Tensor>],
    ) -> Result<Vec<Option<Tensor>>> {
        let Some(gradient) = &gradients[0] else { return Ok(Vec::new()) };
        let (input, weight) = (context.saved(0)?.empty_like()?, context.saved(1)?.empty_like()?);
        let uses = [gradient.cuda_read()?, input.cuda_write()?, weight.cuda_write()?];
        self.run(BACKWARD, &uses, gradient)?;
        Ok(vec![context.needs_input_grad(0).then_some(input), Some(weight)])
    }
}

impl Network {
    fn new(idle: &Arc<Vec<Function>>) -> Result<Network> {
        let weight = |_| {
            let elements = PARAMETERS / SCALE as usize;
            Tensor::zeros([elements], Device::cuda_at(0))?.requires_grad_(true)
        };
        let weights = (0..LAYERS).map(weight).collect::<Result<_>>()?;
        Ok(Network { weights, idle: Arc::clone(idle) })
    }

    /// The loss; `begun` is called when the first layer is enqueued.
    fn loss(&self, begun: impl Fn(Device)) -> Result<Tensor> {
        let device = self.weights[0].device();
        let mut output = Tensor::empty([1], device)?;
        for (number, weight) in self.weights.iter().enumerate() {
            output = Layer(Arc::clone(&self.idle)).apply(&[&output, weight])?.remove(0);
            if number == 0 {
                begun(device);
            }
        }
        output.reshape(())
    }
}

/// The time of a step on so many devices, on the first of them; no batch grows with their number.
fn step_on(devices: usize, idle: &Arc<Vec<Function>>) -> Duration {
    let bucket = (25 << 20) / SCALE as usize;
    let mut replicas =
        Replicas::builder(Network::new(idle).expect("memory"), (0..devices).map(Device::cuda_at))
            .optimizer(|parameters| SGD::new(parameters, 0.1).momentum(0.9).build())
            .bucket_bytes(bucket)
            .verify_every(0)
            .build()
            .expect("replicas");
    assert!(replicas.buckets().len() > 1, "gradients can be summed while others are computed");
    control::tell_operation_times(true).expect("time is virtual");
    let begins = Mutex::new(Vec::<OperationId>::new());
    let loss = |network: &Network, ()| {
        network.loss(|device| {
            if device == Device::cuda_at(0) {
                begins.lock().expect("no panic").extend(control::take_last_operation());
            }
        })
    };
    for _ in 0..=SKIPPED + MEASURED {
        replicas.step((), loss).expect("a step");
    }
    (0..devices).for_each(|index| cuda::synchronize(Device::cuda_at(index)).expect("it works"));
    let times = control::take_operation_times().expect("time is virtual");
    let times: HashMap<OperationId, _> = times.into_iter().collect();
    let begins = begins.into_inner().expect("no panic");
    let begin = |step: usize| times[&begins[step]].start;
    (begin(SKIPPED + MEASURED) - begin(SKIPPED)) / MEASURED as u32
}

#[test]
fn s28_eight_devices_train_eight_times_as_much_in_almost_the_same_time() {
    isolate(|| {
        let real = TimeModel::H200;
        let model = TimeModel {
            port: real.port / SCALE,
            memory: real.memory / SCALE,
            instructions: real.instructions / SCALE,
            ..real
        };
        let instructions = model.instructions;
        let config =
            Config { devices: EIGHT as u32, time: Time::Virtual(model), ..Config::default() };
        configure(config).expect("nothing is in use");
        gpu_runtime::choose_driver(DriverChoice::Software { devices: None })
            .expect("nothing else is in use");
        let load = |index| Ok(cuda::load_module(Device::cuda_at(index), IDLE)?.function("idle")?);
        let idle = (0..EIGHT).map(load).collect::<Result<Vec<_>>>();
        let idle = Arc::new(idle.expect("the kernel is right"));
        control::declare_kernel("idle", move |_, _, parameters| {
            let nanoseconds = parameters.first_chunk().copied().map_or(0, u64::from_le_bytes);
            KernelWork { bytes: 0, instructions: nanoseconds * instructions / 1_000_000_000 }
        });

        let alone = step_on(1, &idle);
        let computing = (FORWARD + BACKWARD) * LAYERS as u32;
        assert!(alone >= computing, "the kernels take their time: {alone:?}");
        let together = step_on(EIGHT, &idle);
        let efficiency = alone.as_secs_f64() / together.as_secs_f64();
        // Twelve layers alike: the last sum, which nothing hides, is more than in a real network.
        assert!(efficiency >= 0.95, "{alone:?} alone, {together:?} on {EIGHT} devices");
        assert!(together > alone, "sums are not for free: {alone:?}, {together:?}");
    })
    .steers_software_driver()
    .run();
}
