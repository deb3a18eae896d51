//! The text of single numbers: one style and one width for all numbers of a tensor.

use half::{bf16, f16};

use crate::{DType, Element, Result, Tensor};

/// The number of digits behind the point.
const PRECISION: usize = 4;

/// The numbers of a tensor, with the style that they are written in.
pub(super) struct Numbers {
    values: Values,
    style: Style,
    /// The least width of each number in columns.
    pub(super) width: usize,
}

enum Values {
    Float(Vec<f64>),
    Int(Vec<i64>),
    Bool(Vec<bool>),
}

/// The elements of a tensor of floats.
fn floats<T: Element + Into<f64>>(tensor: &Tensor) -> Result<Values> {
    Ok(Values::Float(tensor.to_vec::<T>()?.into_iter().map(Into::into).collect()))
}

/// The elements of a tensor of integers.
fn integers<T: Element + Into<i64>>(tensor: &Tensor) -> Result<Values> {
    Ok(Values::Int(tensor.to_vec::<T>()?.into_iter().map(Into::into).collect()))
}

#[derive(Clone, Copy)]
enum Style {
    /// All are integers: `3.`
    Whole,
    /// `3.1416`
    Fixed,
    /// `3.1416e+00`
    Scientific,
}

impl Numbers {
    /// Reads the elements in row-major order; waits for them where the tensor lies on CUDA.
    pub(super) fn read(tensor: &Tensor) -> Result<Numbers> {
        let values = match tensor.dtype() {
            DType::F64 => Values::Float(tensor.to_vec()?),
            DType::F32 => floats::<f32>(tensor)?,
            DType::F16 => floats::<f16>(tensor)?,
            DType::BF16 => floats::<bf16>(tensor)?,
            DType::I64 => Values::Int(tensor.to_vec()?),
            DType::I32 => integers::<i32>(tensor)?,
            DType::I16 => integers::<i16>(tensor)?,
            DType::I8 => integers::<i8>(tensor)?,
            DType::U8 => integers::<u8>(tensor)?,
            DType::Bool => Values::Bool(tensor.to_vec()?),
        };
        Ok(Numbers::of(values))
    }

    fn of(values: Values) -> Numbers {
        let style = match &values {
            Values::Float(floats) => style_of(floats),
            Values::Int(_) | Values::Bool(_) => Style::Whole,
        };
        let mut numbers = Numbers { values, style, width: 1 };
        numbers.width = numbers.widest();
        numbers
    }

    /// The number at a position, right-justified.
    pub(super) fn write(&self, position: usize) -> String {
        let text = self.text(position);
        format!("{text:>width$}", width = self.width)
    }

    fn text(&self, position: usize) -> String {
        match &self.values {
            Values::Float(values) => float(values[position], self.style),
            Values::Int(values) => values[position].to_string(),
            Values::Bool(values) => if values[position] { "True" } else { "False" }.to_owned(),
        }
    }

    /// The width of the widest number. Of floats only the finite ones other than zero count, as in
    /// PyTorch: `tensor([0.])`, but `tensor([nan, 1.])`.
    fn widest(&self) -> usize {
        let (len, counts): (_, &dyn Fn(usize) -> bool) = match &self.values {
            Values::Float(values) => (values.len(), &|i| is_telling(values[i])),
            Values::Int(values) => (values.len(), &|_| true),
            Values::Bool(values) => (values.len(), &|_| true),
        };
        (0..len).filter(|&i| counts(i)).map(|i| self.text(i).len()).max().unwrap_or(1)
    }
}

/// Whether a float is counted when the style is chosen. Zeros, infinities and NaN look the same in
/// each style.
fn is_telling(value: f64) -> bool {
    value.is_finite() && value != 0.0
}

/// Scientific where the magnitudes are far apart or far from 1, else whole where all are integers.
fn style_of(values: &[f64]) -> Style {
    let telling = || values.iter().copied().filter(|&value| is_telling(value));
    let smallest = telling().map(f64::abs).fold(f64::INFINITY, f64::min);
    let largest = telling().map(f64::abs).fold(0.0, f64::max);
    if largest / smallest > 1000.0 || largest > 1e8 || smallest < 1e-4 {
        Style::Scientific
    } else if telling().all(|value| value == value.ceil()) {
        Style::Whole
    } else {
        Style::Fixed
    }
}

fn float(value: f64, style: Style) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    match style {
        Style::Whole => format!("{value:.0}."),
        Style::Fixed => format!("{value:.PRECISION$}"),
        Style::Scientific => scientific(value),
    }
}

/// The exponent with a sign and at least two digits.
fn scientific(value: f64) -> String {
    let text = format!("{value:.PRECISION$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    match exponent.strip_prefix('-') {
        Some(digits) => format!("{mantissa}e-{digits:0>2}"),
        None => format!("{mantissa}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(values: &[f64]) -> Vec<String> {
        let numbers = Numbers::of(Values::Float(values.to_vec()));
        (0..values.len()).map(|i| numbers.write(i)).collect()
    }

    #[test]
    fn whole_floats_end_in_a_point() {
        assert_eq!(written(&[1.0, -20.0]), ["  1.", "-20."]);
        assert_eq!(written(&[0.0]), ["0."]);
    }

    #[test]
    fn ties_round_to_even_as_python_rounds_them() {
        assert_eq!(written(&[0.03125, 0.09375]), ["0.0312", "0.0938"]);
    }

    #[test]
    fn magnitudes_far_apart_or_far_from_one_are_scientific() {
        assert_eq!(written(&[1.0, 1001.0]), ["1.0000e+00", "1.0010e+03"]);
        assert_eq!(written(&[1e-5]), ["1.0000e-05"]);
        assert_eq!(written(&[1e-300, -1e300]), [" 1.0000e-300", "-1.0000e+300"]);
    }

    #[test]
    fn what_is_not_finite_is_padded_but_makes_no_room() {
        assert_eq!(written(&[f64::NAN, 1.5]), ["   nan", "1.5000"]);
        assert_eq!(written(&[f64::NEG_INFINITY, 1.0]), ["-inf", "1."]);
    }
}
