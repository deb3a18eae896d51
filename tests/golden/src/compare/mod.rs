//! Compares what the library gave with what PyTorch gave.

mod close;
mod host;
mod picks;
mod relation;

use tensor::Tensor;

pub(crate) use close::same;
pub(crate) use host::to_host;

use crate::adapter::CaseOutput;
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;
use crate::folder::{CaseFolder, HostArray, StoredTensor, WrittenValue};

/// The results that are expected of a case, and how they are compared.
pub(crate) struct ExpectedOutputs<'a> {
    pub(crate) folder: &'a CaseFolder,
    pub(crate) outputs: &'a [WrittenValue],
    /// Other comparisons than in full, by the number of the output.
    pub(crate) checks: &'a WrittenValue,
    /// The relation between factors, and whether a symmetric matrix is given by its upper triangle.
    pub(crate) relation: Option<(&'a str, bool)>,
    pub(crate) rtol: f64,
    pub(crate) atol: f64,
}

impl ExpectedOutputs<'_> {
    /// Compares the outputs of a case.
    ///
    /// # Errors
    /// They differ.
    pub(crate) fn check(
        &self,
        outputs: &[CaseOutput],
        inputs: &[Tensor],
    ) -> Result<(), CaseFailure> {
        if outputs.len() != self.outputs.len() {
            return wrong(format!("{} results, not {}", outputs.len(), self.outputs.len()));
        }
        if let Some((name, upper)) = self.relation {
            return self.check_relation(name, upper, outputs, inputs);
        }
        for (number, (got, want)) in outputs.iter().zip(self.outputs).enumerate() {
            let what = format!("result {number}");
            match (got, StoredTensor::of(want)) {
                (CaseOutput::Tensor(got), Some(want)) => {
                    let check = self.checks.get(&number.to_string());
                    self.check_tensor(&what, got, &want, check, inputs)?;
                }
                (CaseOutput::Plain(got), None) => self.check_plain(&what, got, want)?,
                (CaseOutput::Tensor(_), None) => return wrong(format!("{what}: a tensor")),
                (CaseOutput::Plain(_), Some(_)) => return wrong(format!("{what}: not a tensor")),
            }
        }
        Ok(())
    }

    fn check_tensor(
        &self,
        what: &str,
        got: &Tensor,
        want: &StoredTensor,
        check: Option<&WrittenValue>,
        inputs: &[Tensor],
    ) -> Result<(), CaseFailure> {
        same_form(what, got.dtype().short_name(), got.shape(), want)?;
        let kind = check.and_then(|check| check.get("check")?.text());
        if kind == Some("shape") {
            return Ok(());
        }
        let (got_array, want) = (to_host(got)?, self.array(want)?);
        match (kind, check) {
            (Some("picks"), Some(check)) => {
                let input = inputs.first().map(to_host).transpose()?;
                let input = input.ok_or_else(|| CaseFailure::Elsewhere("no input".to_owned()))?;
                picks::check(what, &got_array, &want, check, &input)
            }
            (kind, check) => {
                same(what, &got_array, &want, self.rtol, self.atol)?;
                match (kind, check) {
                    (Some("view"), Some(check)) => check_view(what, got, check, inputs),
                    _ => Ok(()),
                }
            }
        }
    }

    fn check_plain(
        &self,
        what: &str,
        got: &CaseArgument,
        want: &WrittenValue,
    ) -> Result<(), CaseFailure> {
        let array = |number: f64| HostArray {
            dtype: "f64".to_owned(),
            shape: Vec::new(),
            numbers: crate::folder::HostNumbers::Floating(vec![number]),
        };
        let agree = match (got, want) {
            (CaseArgument::Truth(got), WrittenValue::Truth(want)) => got == want,
            (CaseArgument::Integer(got), WrittenValue::Integer(want)) => got == want,
            (CaseArgument::Float(got), want) => match want.float() {
                Some(want) => return same(what, &array(*got), &array(want), self.rtol, self.atol),
                None => false,
            },
            _ => false,
        };
        if agree { Ok(()) } else { wrong(format!("{what}: another value than {want:?}")) }
    }

    fn check_relation(
        &self,
        name: &str,
        upper: bool,
        outputs: &[CaseOutput],
        inputs: &[Tensor],
    ) -> Result<(), CaseFailure> {
        let (mut got, mut want) = (Vec::new(), Vec::new());
        for (output, written) in outputs.iter().zip(self.outputs) {
            let (CaseOutput::Tensor(tensor), Some(stored)) = (output, StoredTensor::of(written))
            else {
                return wrong("a result is no tensor".to_owned());
            };
            same_form("a factor", tensor.dtype().short_name(), tensor.shape(), &stored)?;
            got.push(to_host(tensor)?);
            want.push(self.array(&stored)?);
        }
        let input = inputs.first().map(to_host).transpose()?;
        let input = input.ok_or_else(|| CaseFailure::Elsewhere("no input".to_owned()))?;
        let tolerance = (self.rtol, self.atol);
        relation::check(name, &got, &want, &input, upper, tolerance)
    }

    fn array(&self, stored: &StoredTensor) -> Result<HostArray, CaseFailure> {
        self.folder.array(stored).map_err(|error| CaseFailure::Elsewhere(format!("{error:#}")))
    }
}

/// Compares gradients; where none is expected, none or zeros are right.
///
/// # Errors
/// They differ.
pub(crate) fn same_gradients(
    folder: &CaseFolder,
    what: &str,
    got: &[Option<Tensor>],
    want: &[WrittenValue],
    (rtol, atol): (f64, f64),
) -> Result<(), CaseFailure> {
    if got.len() != want.len() {
        return wrong(format!("{}: {} of {}", what, got.len(), want.len()));
    }
    for (number, (got, want)) in got.iter().zip(want).enumerate() {
        let what = format!("{what} {number}");
        let got = got.as_ref().map(to_host).transpose()?;
        match (got, StoredTensor::of(want)) {
            (None, None) => {}
            (Some(got), None) if got.numbers.to_f64().iter().all(|&number| number == 0.0) => {}
            (Some(_), None) => return wrong(format!("{what}: one is given where there is none")),
            (got, Some(want)) => {
                let want = folder
                    .array(&want)
                    .map_err(|error| CaseFailure::Elsewhere(error.to_string()))?;
                let got = got.unwrap_or_else(|| want.zeros());
                same(&what, &got, &want, rtol, atol)?;
            }
        }
    }
    Ok(())
}

fn check_view(
    what: &str,
    got: &Tensor,
    check: &WrittenValue,
    inputs: &[Tensor],
) -> Result<(), CaseFailure> {
    let number = |name: &str| check.get(name).and_then(WrittenValue::integer);
    let of = number("of").and_then(|of| inputs.get(usize::try_from(of).ok()?));
    let of = of.ok_or_else(|| CaseFailure::Elsewhere("a view of no input".to_owned()))?;
    if !got.shares_memory_with(of) {
        return wrong(format!("{what} is no view"));
    }
    let strides: Vec<i64> = check
        .get("strides")
        .map_or(&[][..], WrittenValue::items)
        .iter()
        .filter_map(WrittenValue::integer)
        .collect();
    let own: Vec<i64> = got.strides().iter().map(|&stride| stride as i64).collect();
    let offset = got.storage_offset() as i64 - of.storage_offset() as i64;
    if own != strides || Some(offset) != number("offset") {
        return wrong(format!(
            "{what}: a view with strides {own:?} at {offset}, not {strides:?} at {:?}",
            number("offset")
        ));
    }
    Ok(())
}

fn same_form(
    what: &str,
    dtype: &str,
    shape: &[usize],
    want: &StoredTensor,
) -> Result<(), CaseFailure> {
    if dtype != want.dtype {
        return wrong(format!("{what}: dtype {dtype}, not {}", want.dtype));
    }
    if shape != want.shape {
        return wrong(format!("{what}: shape {shape:?}, not {:?}", want.shape));
    }
    Ok(())
}

/// The differences that were found.
pub(crate) fn wrong<T>(why: String) -> Result<T, CaseFailure> {
    Err(CaseFailure::Wrong(why))
}
