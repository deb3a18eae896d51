//! Training in half precision (`torch.amp`): the scale of losses beside [`Autocast`](tensor::Autocast).

use std::collections::HashMap;

use tensor::{DType, Device, Error, Tensor, TensorId, no_grad};

use crate::Result;
use crate::optim::Optimizer;
use crate::state::StateDict;
use crate::stateful::{Stateful, entry, integers};

const OP: &str = "GradScaler";

/// The options of a [`GradScaler`]; `default()` has PyTorch's.
#[derive(Clone, Copy, Debug)]
pub struct GradScalerOptions {
    /// The first scale; 65536 by default.
    pub init_scale: f64,
    /// The factor of the scale after `growth_interval` steps, above 1; 2 by default.
    pub growth_factor: f64,
    /// The factor of the scale after a step that was skipped, between 0 and 1; 0.5 by default.
    pub backoff_factor: f64,
    /// The steps in a row until the scale grows, at least 1; 2000 by default.
    pub growth_interval: u64,
}

impl Default for GradScalerOptions {
    fn default() -> GradScalerOptions {
        GradScalerOptions {
            init_scale: 65536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2000,
        }
    }
}

/// Keeps gradients in half precision from vanishing (`torch.amp.GradScaler`): the loss is multiplied by
/// a scale, the gradients are divided by it before a step, and a step with a gradient that is infinite
/// or NaN is skipped. The scale falls then, and grows after many steps without: Micikevicius et al.,
/// "Mixed Precision Training" (2018).
///
/// ```
/// use nn::amp::GradScaler;
/// use nn::optim::{Optimizer, SGD};
/// use nn::{Forward, Linear, Module};
/// use tensor::{Autocast, DType, Device, Tensor};
/// let model = Linear::new(3, 2)?;
/// let mut optimizer = SGD::new(model.parameters(), 0.1).build()?;
/// let mut scaler = GradScaler::new();
/// for _ in 0..3 {
///     optimizer.zero_grad();
///     let loss = {
///         let _half = Autocast::new(Device::Cpu).dtype(DType::F16).enter()?;
///         model.forward(&Tensor::ones([1, 3], ())?)?.mse_loss(&Tensor::ones([1, 2], ())?)?
///     };
///     scaler.scale(&loss)?.backward()?;
///     scaler.step(&mut optimizer)?;
///     scaler.update();
/// }
/// # Ok::<(), tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GradScaler {
    options: GradScalerOptions,
    scale: f64,
    /// The steps in a row that were not skipped.
    growth_tracker: u64,
    /// Whether a step since the last update was to be skipped.
    found_inf: bool,
    /// The optimizers whose gradients are divided already, by their first parameter, and whether all
    /// of these are finite.
    unscaled: HashMap<TensorId, bool>,
}

impl GradScaler {
    /// A scaler with PyTorch's defaults.
    pub fn new() -> GradScaler {
        let options = GradScalerOptions::default();
        GradScaler {
            options,
            scale: options.init_scale,
            growth_tracker: 0,
            found_inf: false,
            unscaled: HashMap::new(),
        }
    }

    /// A scaler with other options.
    ///
    /// # Errors
    /// One of them is out of its range.
    pub fn with_options(options: GradScalerOptions) -> Result<GradScaler> {
        let GradScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval } =
            options;
        let refused = |argument, value: String, why| {
            Err(Error::InvalidArgument { op: OP, argument, value, why })
        };
        if !(init_scale > 0.0 && init_scale.is_finite()) {
            return refused("init_scale", init_scale.to_string(), "it must be finite and above 0");
        }
        if growth_factor.is_nan() || growth_factor <= 1.0 {
            return refused("growth_factor", growth_factor.to_string(), "it must be above 1");
        }
        if !(backoff_factor > 0.0 && backoff_factor < 1.0) {
            let value = backoff_factor.to_string();
            return refused("backoff_factor", value, "it must be between 0 and 1");
        }
        if growth_interval == 0 {
            return refused("growth_interval", "0".to_owned(), "it must be at least 1");
        }
        Ok(GradScaler { options, scale: init_scale, ..GradScaler::new() })
    }

    /// The scale (`get_scale`).
    pub fn get_scale(&self) -> f64 {
        self.scale
    }

    /// The loss times the scale, whose `backward` is to be called.
    ///
    /// # Errors
    /// Memory is short.
    #[track_caller]
    pub fn scale(&self, loss: &Tensor) -> Result<Tensor> {
        loss.mul(self.scale)
    }

    /// Divides the gradients of an optimizer's parameters by the scale, for who wants to look at them or
    /// clip them before the step. It reads from the devices whether all are finite, and waits for them.
    ///
    /// # Errors
    /// They are divided already since the last [`GradScaler::update`]; memory is short, or the runtime
    /// failed.
    #[track_caller]
    pub fn unscale_(&mut self, optimizer: &dyn Optimizer) -> Result<()> {
        let parameters = optimizer.parameters();
        let Some(first) = parameters.first() else { return Ok(()) };
        if self.unscaled.contains_key(&first.id()) {
            return Err(Error::InvalidArgument {
                op: "GradScaler::unscale_",
                argument: "optimizer",
                value: "one whose gradients are divided already".to_owned(),
                why: "it can be done once between two calls of update()",
            });
        }
        let is_finite = no_grad(|| {
            let mut largest = Vec::new();
            for gradient in parameters.iter().filter_map(Tensor::grad) {
                gradient.mul_(1.0 / self.scale)?;
                if gradient.numel() > 0 {
                    largest.push(gradient.norm(f64::INFINITY, ())?);
                }
            }
            // All norms are on their way before the first one is waited for.
            let mut is_finite = true;
            for norm in largest {
                is_finite &= norm.to((DType::F64, Device::Cpu))?.item::<f64>()?.is_finite();
            }
            Ok::<_, Error>(is_finite)
        })?;
        self.unscaled.insert(first.id(), is_finite);
        Ok(())
    }

    /// Makes a step of an optimizer if all its gradients are finite, after dividing them by the scale,
    /// unless that is done. Gives whether the step was made.
    ///
    /// # Errors
    /// Memory is short, the runtime failed, or the optimizer's step did.
    #[track_caller]
    pub fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<bool> {
        let Some(first) = optimizer.parameters().first().map(Tensor::id) else { return Ok(true) };
        if !self.unscaled.contains_key(&first) {
            self.unscale_(optimizer)?;
        }
        let is_finite = self.unscaled.get(&first).copied().unwrap_or(true);
        if is_finite {
            optimizer.step()?;
        } else {
            self.found_inf = true;
        }
        Ok(is_finite)
    }

    /// Ends a step of the training, of all its optimizers: the scale falls if one was skipped, and grows
    /// after enough steps in a row.
    pub fn update(&mut self) {
        let GradScalerOptions { growth_factor, backoff_factor, growth_interval, .. } = self.options;
        self.found_inf |= self.unscaled.values().any(|is_finite| !is_finite);
        if self.found_inf {
            (self.scale, self.growth_tracker) = (self.scale * backoff_factor, 0);
        } else {
            self.growth_tracker += 1;
            if self.growth_tracker >= growth_interval {
                let grown = self.scale * growth_factor;
                // Beyond the largest float the scale would be infinite, and all gradients 0.
                self.scale = if grown <= f64::from(f32::MAX) { grown } else { self.scale };
                self.growth_tracker = 0;
            }
        }
        self.found_inf = false;
        self.unscaled.clear();
    }
}

impl Default for GradScaler {
    fn default() -> GradScaler {
        GradScaler::new()
    }
}

/// PyTorch's names of the numbers in a state.
const SCALE: &str = "scale";
const GROWTH_TRACKER: &str = "_growth_tracker";

impl Stateful for GradScaler {
    fn state(&self) -> Result<StateDict> {
        let tracker = Tensor::from_vec(vec![self.growth_tracker as i64], [1], Device::Cpu)?;
        let scale = Tensor::from_vec(vec![self.scale], [1], Device::Cpu)?;
        Ok([(SCALE.to_owned(), scale), (GROWTH_TRACKER.to_owned(), tracker)].into())
    }

    /// Takes over scale and steps. The options are the program's own.
    fn set_state(&mut self, state: &StateDict) -> Result<()> {
        const OP: &str = "GradScaler::set_state";
        let scale = entry(OP, state, SCALE)?.item::<f64>()?;
        let [tracker] = integers(OP, state, GROWTH_TRACKER)?;
        let tracker = u64::try_from(tracker).ok().filter(|_| scale > 0.0 && scale.is_finite());
        let Some(tracker) = tracker else {
            return Err(Error::InvalidArgument {
                op: OP,
                argument: "state",
                value: format!("a scale of {scale}"),
                why: "the scale must be finite and above 0, and the steps zero or more",
            });
        };
        (self.scale, self.growth_tracker) = (scale, tracker);
        Ok(())
    }
}
