//! Schedules of the learning rate, by PyTorch's names of them and of their arguments.

use nn::optim::lr_scheduler::{
    AnnealStrategy, ChainedScheduler, ConstantLR, CosineAnnealingLR, CosineAnnealingWarmRestarts,
    CyclicLR, CyclicMode, ExponentialLR, LRSchedule, LinearLR, MultiStepLR, MultiplicativeLR,
    OneCycleLR, PlateauMode, PlateauOptions, PolynomialLR, ReduceLROnPlateau, SequentialLR, StepLR,
    ThresholdMode,
};

use crate::failure::CaseFailure;
use crate::folder::WrittenValue;

type BoxedSchedule = Box<dyn LRSchedule + Send>;

/// A schedule of PyTorch's name.
///
/// # Errors
/// There is no such schedule or argument; the library refused one.
pub(crate) fn schedule(name: &str, kwargs: &WrittenValue) -> Result<BoxedSchedule, CaseFailure> {
    let mut given = Keywords::new(name, kwargs);
    let schedule: BoxedSchedule = match name {
        "StepLR" => Box::new(StepLR {
            step_size: given.count("step_size")?,
            gamma: given.number("gamma", 0.1)?,
        }),
        "MultiStepLR" => Box::new(MultiStepLR {
            milestones: given.counts("milestones")?,
            gamma: given.number("gamma", 0.1)?,
        }),
        "ConstantLR" => Box::new(ConstantLR {
            factor: given.number("factor", 1.0 / 3.0)?,
            total_iters: given.count_or("total_iters", 5)?,
        }),
        "LinearLR" => Box::new(LinearLR {
            start_factor: given.number("start_factor", 1.0 / 3.0)?,
            end_factor: given.number("end_factor", 1.0)?,
            total_iters: given.count_or("total_iters", 5)?,
        }),
        "ExponentialLR" => Box::new(ExponentialLR { gamma: given.number("gamma", f64::NAN)? }),
        "PolynomialLR" => Box::new(PolynomialLR {
            total_iters: given.count_or("total_iters", 5)?,
            power: given.number("power", 1.0)?,
        }),
        "CosineAnnealingLR" => Box::new(CosineAnnealingLR {
            t_max: given.count("T_max")?,
            eta_min: given.number("eta_min", 0.0)?,
        }),
        "CosineAnnealingWarmRestarts" => Box::new(CosineAnnealingWarmRestarts {
            t_0: given.count("T_0")?,
            t_mult: given.count_or("T_mult", 1)?,
            eta_min: given.number("eta_min", 0.0)?,
        }),
        "LambdaLR" => Box::new(given.table("lr_lambda")?),
        "MultiplicativeLR" => Box::new(MultiplicativeLR::new(given.table("lr_lambda")?)),
        "CyclicLR" => Box::new(cyclic(&mut given)?),
        "OneCycleLR" => Box::new(one_cycle(&mut given)?),
        "ChainedScheduler" => Box::new(ChainedScheduler::new(given.schedules()?)),
        "SequentialLR" => {
            Box::new(SequentialLR::new(given.schedules()?, given.counts("milestones")?)?)
        }
        _ => return Err(given.unsupported("")),
    };
    given.finish()?;
    Ok(schedule)
}

fn cyclic(given: &mut Keywords<'_>) -> Result<CyclicLR, CaseFailure> {
    let new = CyclicLR::new(given.number("base_lr", 0.0)?, given.number("max_lr", 0.0)?);
    Ok(CyclicLR {
        step_size_up: given.count_or("step_size_up", new.step_size_up)?,
        step_size_down: given.optional_count("step_size_down")?,
        mode: match given.text("mode", "triangular")? {
            "triangular" => CyclicMode::Triangular,
            "triangular2" => CyclicMode::Triangular2,
            "exp_range" => CyclicMode::ExpRange,
            other => return Err(given.unsupported(other)),
        },
        gamma: given.number("gamma", new.gamma)?,
        cycle_momentum: given.flag("cycle_momentum", new.cycle_momentum)?,
        base_momentum: given.number("base_momentum", new.base_momentum)?,
        max_momentum: given.number("max_momentum", new.max_momentum)?,
        ..new
    })
}

fn one_cycle(given: &mut Keywords<'_>) -> Result<OneCycleLR, CaseFailure> {
    let new = OneCycleLR::new(given.number("max_lr", 0.0)?, given.count("total_steps")?);
    Ok(OneCycleLR {
        pct_start: given.number("pct_start", new.pct_start)?,
        anneal_strategy: match given.text("anneal_strategy", "cos")? {
            "cos" => AnnealStrategy::Cos,
            "linear" => AnnealStrategy::Linear,
            other => return Err(given.unsupported(other)),
        },
        cycle_momentum: given.flag("cycle_momentum", new.cycle_momentum)?,
        base_momentum: given.number("base_momentum", new.base_momentum)?,
        max_momentum: given.number("max_momentum", new.max_momentum)?,
        div_factor: given.number("div_factor", new.div_factor)?,
        final_div_factor: given.number("final_div_factor", new.final_div_factor)?,
        three_phase: given.flag("three_phase", new.three_phase)?,
        ..new
    })
}

/// The schedule that follows a loss.
///
/// # Errors
/// As [`schedule`].
pub(crate) fn plateau(kwargs: &WrittenValue) -> Result<ReduceLROnPlateau, CaseFailure> {
    let mut given = Keywords::new("ReduceLROnPlateau", kwargs);
    let new = PlateauOptions::default();
    let options = PlateauOptions {
        mode: match given.text("mode", "min")? {
            "min" => PlateauMode::Min,
            "max" => PlateauMode::Max,
            other => return Err(given.unsupported(other)),
        },
        factor: given.number("factor", new.factor)?,
        patience: given.count_or("patience", new.patience)?,
        threshold: given.number("threshold", new.threshold)?,
        threshold_mode: match given.text("threshold_mode", "rel")? {
            "rel" => ThresholdMode::Rel,
            "abs" => ThresholdMode::Abs,
            other => return Err(given.unsupported(other)),
        },
        cooldown: given.count_or("cooldown", new.cooldown)?,
        min_lr: given.number("min_lr", new.min_lr)?,
        eps: given.number("eps", new.eps)?,
    };
    given.finish()?;
    Ok(ReduceLROnPlateau::new(options)?)
}

/// The arguments of a schedule, of which none may be left.
struct Keywords<'a> {
    schedule: &'a str,
    given: Vec<(&'a str, &'a WrittenValue)>,
}

impl<'a> Keywords<'a> {
    fn new(schedule: &'a str, kwargs: &'a WrittenValue) -> Keywords<'a> {
        let given = kwargs.entries().iter().map(|(name, value)| (&**name, value)).collect();
        Keywords { schedule, given }
    }

    fn unsupported(&self, what: &str) -> CaseFailure {
        CaseFailure::Unsupported(format!("{}: {what}", self.schedule))
    }

    fn take(&mut self, name: &str) -> Option<&'a WrittenValue> {
        let at = self.given.iter().position(|(own, _)| *own == name)?;
        Some(self.given.remove(at).1)
    }

    /// A value that is read, or the default.
    fn read<T>(
        &mut self,
        name: &str,
        default: Option<T>,
        read: impl Fn(&'a WrittenValue) -> Option<T>,
    ) -> Result<T, CaseFailure> {
        match self.take(name) {
            Some(value) => read(value).ok_or_else(|| self.unsupported(name)),
            None => default.ok_or_else(|| self.unsupported(name)),
        }
    }

    fn number(&mut self, name: &str, default: f64) -> Result<f64, CaseFailure> {
        self.read(name, Some(default), number)
    }

    fn flag(&mut self, name: &str, default: bool) -> Result<bool, CaseFailure> {
        self.read(name, Some(default), |value| match value {
            WrittenValue::Truth(value) => Some(*value),
            _ => None,
        })
    }

    fn text(&mut self, name: &str, default: &'static str) -> Result<&'a str, CaseFailure> {
        self.read(name, Some(default), WrittenValue::text)
    }

    fn count(&mut self, name: &str) -> Result<u64, CaseFailure> {
        self.read(name, None, count)
    }

    fn count_or(&mut self, name: &str, default: u64) -> Result<u64, CaseFailure> {
        self.read(name, Some(default), count)
    }

    fn optional_count(&mut self, name: &str) -> Result<Option<u64>, CaseFailure> {
        self.read(name, Some(None), |value| match value {
            WrittenValue::Null => Some(None),
            value => Some(Some(count(value)?)),
        })
    }

    fn counts(&mut self, name: &str) -> Result<Vec<u64>, CaseFailure> {
        self.read(name, None, |value| value.items().iter().map(count).collect())
    }

    /// A function of the step, which is given as a table.
    fn table(&mut self, name: &str) -> Result<impl Fn(u64) -> f64 + Send + use<>, CaseFailure> {
        let table: Vec<f64> = self
            .read(name, None, |value| value.only("table")?.items().iter().map(number).collect())?;
        Ok(move |step: u64| table.get(step as usize).copied().unwrap_or(f64::NAN))
    }

    fn schedules(&mut self) -> Result<Vec<BoxedSchedule>, CaseFailure> {
        let written = self.read("schedulers", None, |value| Some(value.items()))?;
        let of = |written: &WrittenValue| match (written.get("scheduler"), written.get("kwargs")) {
            (Some(name), Some(kwargs)) => schedule(name.text().unwrap_or_default(), kwargs),
            _ => Err(CaseFailure::Elsewhere("a schedule without a name".to_owned())),
        };
        written.iter().map(of).collect()
    }

    fn finish(self) -> Result<(), CaseFailure> {
        match self.given.first() {
            None => Ok(()),
            Some((name, _)) => Err(self.unsupported(name)),
        }
    }
}

fn number(value: &WrittenValue) -> Option<f64> {
    value.float().or_else(|| value.integer().map(|number| number as f64))
}

fn count(value: &WrittenValue) -> Option<u64> {
    u64::try_from(value.integer()?).ok()
}
