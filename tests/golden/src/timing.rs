//! Timed shapes.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tensor::{Backward, Device, Tensor, no_grad};

use crate::adapter::{CaseOutput, OptimizerGroup, PreparedCall, optimizer};
use crate::argument::{ArgumentReader, CaseArgument, dtype};
use crate::arguments::{TimeArguments, device};
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, TimedShape, WrittenValue};

/// The blocks of calls of which the fastest counts.
const BLOCKS: usize = 5;

/// The time that a block takes at least, unless one call takes longer.
const BLOCK: Duration = Duration::from_millis(10);

/// Times the shapes of a folder, and prints a line for each.
///
/// # Errors
/// The folder cannot be read, or there is no such device.
pub(crate) fn run(arguments: &TimeArguments) -> Result<()> {
    let device = device(&arguments.device)?;
    tensor::set_num_threads(arguments.threads)?;
    let folder = CaseFolder::open(&arguments.dir)?;
    for line in folder.lines() {
        let case: TimedShape = serde_json::from_str(line).context("a shape")?;
        if !arguments.ids.is_empty() && !arguments.ids.contains(&case.id) {
            continue;
        }
        let line = match measured(&folder, &case, device) {
            Ok(ns) => serde_json::json!({ "id": case.id, "ns": ns }),
            Err(failure) => {
                serde_json::json!({ "id": case.id, "unsupported": failure.detail() })
            }
        };
        println!("{line}");
    }
    Ok(())
}

/// The nanoseconds of one call.
fn measured(folder: &CaseFolder, case: &TimedShape, device: Device) -> Result<u64, CaseFailure> {
    tensor::manual_seed(case.id as u64);
    let mut reader = ArgumentReader::new(folder, device);
    let mut leaves = Vec::new();
    let mut args = Vec::new();
    for written in &case.args {
        args.push(argument(&mut reader, written, device, &mut leaves)?);
    }
    let kwargs = reader.entries(&case.kwargs)?;
    if case.mode == "step" {
        return step(case, args, kwargs, device);
    }
    let call = PreparedCall::new(timed_name(&case.op), &args, &kwargs, device)?.settled();
    let finish = || finish(device);
    if case.mode == "fwd" {
        return no_grad(|| {
            fastest(
                || {
                    call.run()?;
                    Ok(())
                },
                finish,
            )
        });
    }
    let first = |outputs: Vec<CaseOutput>| match outputs.into_iter().next() {
        Some(CaseOutput::Tensor(output)) => Ok(output),
        _ => Err(CaseFailure::Unsupported("a result that is no tensor".to_owned())),
    };
    let ones = first(call.run()?)?.ones_like()?;
    let wanted: Vec<&Tensor> = leaves.iter().collect();
    fastest(
        || {
            let output = first(call.run()?)?;
            Backward::new().output_with(&output, &ones).collect(&wanted)?;
            Ok(())
        },
        finish,
    )
}

/// Waits for a device.
fn finish(device: Device) -> tensor::Result<()> {
    match device {
        Device::Cpu => Ok(()),
        device => tensor::cuda::synchronize(device),
    }
}

/// The nanoseconds of an optimizer's step.
fn step(
    case: &TimedShape,
    args: Vec<CaseArgument>,
    options: Vec<(String, CaseArgument)>,
    device: Device,
) -> Result<u64, CaseFailure> {
    let Some(CaseArgument::List(items)) = args.into_iter().next() else {
        return Err(CaseFailure::Elsewhere("no list of parameters".to_owned()));
    };
    let mut parameters = Vec::new();
    for item in items {
        if let CaseArgument::Tensor(parameter) = item {
            let parameter = parameter.requires_grad_(true)?;
            parameter.set_grad(Some(parameter.randn_like()?))?;
            parameters.push(parameter);
        }
    }
    let group = OptimizerGroup { parameters, options };
    let optimizer = RefCell::new(optimizer(&case.op, &[group])?);
    fastest(|| Ok(optimizer.borrow_mut().step()?), || finish(device))
}

/// The shortest mean time of a call over the blocks, in nanoseconds, after two calls to warm up.
fn fastest(
    work: impl Fn() -> Result<(), CaseFailure>,
    finish: impl Fn() -> tensor::Result<()>,
) -> Result<u64, CaseFailure> {
    work()?;
    finish()?;
    let begun = Instant::now();
    work()?;
    finish()?;
    let once = begun.elapsed().max(Duration::from_nanos(100));
    let calls = (BLOCK.as_nanos() / once.as_nanos()).max(1);
    let mut best = f64::INFINITY;
    for _ in 0..BLOCKS {
        let begun = Instant::now();
        for _ in 0..calls {
            work()?;
        }
        finish()?;
        best = best.min(begun.elapsed().as_nanos() as f64 / calls as f64);
    }
    Ok(best.round() as u64)
}

/// The name by which the adapter has an operation with the positions that timed shapes give it.
fn timed_name(op: &str) -> &str {
    match op {
        "where" => "torch.where",
        "nn.functional.embedding" => "torch.nn.functional.embedding",
        _ => op,
    }
}

/// An argument, in which described tensors are drawn at random.
fn argument(
    reader: &mut ArgumentReader<'_>,
    written: &WrittenValue,
    device: Device,
    leaves: &mut Vec<Tensor>,
) -> Result<CaseArgument, CaseFailure> {
    if let Some(described) = written.only("random") {
        let tensor = drawn(described, device)?;
        if tensor.requires_grad() {
            leaves.push(tensor.clone());
        }
        return Ok(CaseArgument::Tensor(tensor));
    }
    match written {
        WrittenValue::List(items) => {
            let mut list = Vec::new();
            for item in items {
                list.push(argument(reader, item, device, leaves)?);
            }
            Ok(CaseArgument::List(list))
        }
        written => reader.value(written),
    }
}

/// A random tensor as it is described.
fn drawn(described: &WrittenValue, device: Device) -> Result<Tensor, CaseFailure> {
    let integers = |name: &str| -> Vec<i64> {
        let items = described.get(name).map_or(&[][..], WrittenValue::items);
        items.iter().filter_map(WrittenValue::integer).collect()
    };
    let shape: Vec<usize> = integers("shape").into_iter().map(|size| size as usize).collect();
    let dtype = dtype(described.get("dtype").and_then(WrittenValue::text).unwrap_or("f32"))?;
    let tensor = match described.get("high").and_then(WrittenValue::integer) {
        Some(high) => Tensor::randint(0, high, shape, device)?.to(dtype)?,
        None => Tensor::randn(shape, device)?.to(dtype)?,
    };
    let order: Vec<isize> = integers("order").into_iter().map(|dim| dim as isize).collect();
    let tensor = if order.is_empty() { tensor } else { tensor.permute(&order)? };
    let grad = described.get("grad") == Some(&WrittenValue::Truth(true));
    Ok(if grad { tensor.requires_grad_(true)? } else { tensor })
}
