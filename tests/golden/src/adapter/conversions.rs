//! Conversions of dtypes, and copies.

use tensor::{DType, MemoryFormat, Scalar, Tensor};

use super::rows::{AdapterRow, BoundCall, CallOutcome, give, row};
use crate::argument::{CaseArgument, dtype};
use crate::failure::CaseFailure;

/// Rows of conversions to a dtype.
macro_rules! conversions {
    ($($name:literal $dtype:literal;)*) => {
        &[$(row($name, "x, *, memory_format=None", |c| {
            formatted(c, c.x()?.to(dtype($dtype)?)?)
        })),*]
    };
}

pub(super) static CONVERSIONS: &[AdapterRow] = conversions! {
    "bfloat16" "bf16";
    "bool" "bool";
    "byte" "u8";
    "char" "i8";
    "double" "f64";
    "float" "f32";
    "half" "f16";
    "int" "i32";
    "long" "i64";
    "short" "i16";
};

pub(super) static COPIES: &[AdapterRow] = &[
    row("to", "x, dtype, non_blocking=False, copy=False, *, memory_format=None", |c| {
        moved(c, c.get("dtype")?)
    }),
    row("to", "x, other, non_blocking=False, copy=False, *, memory_format=None", |c| {
        moved(c, c.get::<&Tensor>("other")?.dtype())
    }),
    // The device is the one that the exam is sat on.
    row("to", "x, device, dtype, non_blocking=False, copy=False, *, memory_format=None", |c| {
        c.get::<&str>("device")?;
        moved(c, c.get("dtype")?)
    }),
    row("clone", "x, *, memory_format=None", |c| formatted(c, c.x()?.clone_data()?)),
    row("contiguous", "x, *, memory_format=None", |c| match format(c)? {
        None => give(c.x()?.contiguous()),
        Some(format) => give(c.x()?.contiguous_in(format)),
    }),
    row("item", "x", |c| match c.x()?.dtype() {
        DType::Bool => give(c.x()?.item::<bool>()),
        dtype if dtype.is_float() => give(c.x()?.item::<f64>().map(Scalar::Float)),
        _ => give(c.x()?.item::<i64>().map(Scalar::Int)),
    }),
    row("detach", "x", |c| give(Ok(c.x()?.detach()))),
];

/// A conversion that gives a copy if one is asked for.
fn moved(c: &BoundCall, dtype: DType) -> CallOutcome {
    // Whether the host waits cannot be seen here.
    c.get::<bool>("non_blocking")?;
    let converted = c.x()?.to(dtype)?;
    let is_same = converted.shares_memory_with(c.x()?);
    let copy: bool = c.get("copy")?;
    formatted(c, if copy && is_same { converted.clone_data()? } else { converted })
}

/// The tensor in the memory format that is asked for.
fn formatted(c: &BoundCall, x: Tensor) -> CallOutcome {
    match format(c)? {
        None => give(Ok(x)),
        Some(format) => give(x.contiguous_in(format)),
    }
}

/// A memory format; none where the dimensions keep their order.
fn format(c: &BoundCall) -> Result<Option<MemoryFormat>, CaseFailure> {
    let CaseArgument::MemoryFormat(name) = c.get::<&CaseArgument>("memory_format")? else {
        return c.get::<Option<bool>>("memory_format").map(|_| None);
    };
    match &**name {
        "preserve_format" => Ok(None),
        "contiguous_format" => Ok(Some(MemoryFormat::Contiguous)),
        "channels_last" => Ok(Some(MemoryFormat::ChannelsLast)),
        "channels_last_3d" => Ok(Some(MemoryFormat::ChannelsLast3d)),
        other => Err(CaseFailure::Unsupported(format!("the memory format {other}"))),
    }
}
