//! Where an operation runs: on its operands' device, which must be one, or say what is not.

use crate::placement::Place;
use crate::{Error, Result, Tensor};

/// The place of an operation on `arguments`: the first one's device.
///
/// A 0-dimensional CPU tensor may join CUDA operands; it acts as a number. An operand on another
/// CUDA device may join where the first one's device was given access to it.
///
/// # Errors
/// The operands lie on different devices. The error names each.
pub(crate) fn place_of(op: &'static str, arguments: &[(&'static str, &Tensor)]) -> Result<Place> {
    let mut place = None;
    for (_, tensor) in arguments {
        if !joins_as_number(tensor) {
            place = Some(tensor.place());
            break;
        }
    }
    let Some(place) = place else {
        // All are 0-dimensional on the CPU; or there is none.
        return Ok(Place::Cpu);
    };
    if arguments.iter().all(|(_, tensor)| reachable(place, tensor)) {
        return Ok(place);
    }
    let arguments = arguments.iter().map(|(name, tensor)| (*name, tensor.device())).collect();
    Err(Error::DeviceMismatch { op, arguments })
}

/// As [`place_of`], for operations that take no number for a tensor.
pub(crate) fn same_place(op: &'static str, arguments: &[(&'static str, &Tensor)]) -> Result<Place> {
    let place = arguments.first().map_or(Place::Cpu, |(_, tensor)| tensor.place());
    if arguments.iter().all(|(_, tensor)| accessible(place, tensor.place())) {
        return Ok(place);
    }
    let arguments = arguments.iter().map(|(name, tensor)| (*name, tensor.device())).collect();
    Err(Error::DeviceMismatch { op, arguments })
}

fn joins_as_number(tensor: &Tensor) -> bool {
    tensor.dims() == 0 && tensor.place() == Place::Cpu
}

fn reachable(from: Place, tensor: &Tensor) -> bool {
    accessible(from, tensor.place()) || joins_as_number(tensor)
}

/// Whether a kernel that runs at `from` can read memory at `to`.
fn accessible(from: Place, to: Place) -> bool {
    match (from, to) {
        _ if from == to => true,
        (Place::Cuda(from), Place::Cuda(to)) => from.peer_access_enabled(to),
        _ => false,
    }
}
