//! Fills of graphs: checked when a node is made, looked up again at each launch.

use std::ops::Range;
use std::sync::Arc;

use cuda_sys::CUresult;
use ptx_jit::AccessKind;

use super::copy::CopyEnd;
use super::fill::fill_job;
use super::location::Location;
use super::pitched::{Extent, PitchedPointer, fill_2d_job};
use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::device::streams::operation::FillParameters;
use crate::queue::Job;

impl FillParameters {
    /// Checks sizes and memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an element that is not 1, 2 or 4 bytes, an address or pitch
    /// that is not aligned to it, an empty extent, and memory that is not there.
    pub(crate) fn check(&self, machine: &SimulatedMachine) -> Result<(), CUresult> {
        let several_rows = self.height > 1;
        let row = self.width.saturating_mul(self.size);
        let is_aligned = |value: u64| value.is_multiple_of(self.size);
        if !matches!(self.size, 1 | 2 | 4)
            || self.width == 0
            || self.height == 0
            || !is_aligned(self.address)
            || (several_rows && (self.pitch < row || !is_aligned(self.pitch)))
        {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        self.location(machine).map(drop)
    }

    /// The fill as work.
    ///
    /// # Errors
    /// Those of [`check`](FillParameters::check) about memory.
    pub(crate) fn job(
        &self,
        machine: &SimulatedMachine,
        context: &Context,
    ) -> Result<Arc<dyn Job>, CUresult> {
        let device = context.device;
        let (location, bytes) = self.location(machine)?;
        let location = location.open_to(machine, device.id.ordinal, bytes, AccessKind::Write)?;
        let address = self.address;
        if self.height == 1 {
            let end = CopyEnd { address, location };
            return Ok(fill_job(end, self.value, self.size, self.width));
        }
        let to = PitchedPointer { address, pitch: self.pitch, rows: self.height, location };
        let extent = Extent { width: self.width * self.size, height: self.height, depth: 1 };
        Ok(fill_2d_job(to, self.value, self.size, extent))
    }

    fn location(&self, machine: &SimulatedMachine) -> Result<(Location, Range<u64>), CUresult> {
        let bytes = self.width.checked_mul(self.size);
        let rows = (self.height - 1).checked_mul(if self.height > 1 { self.pitch } else { 0 });
        let bytes = bytes.zip(rows).and_then(|(row, rows)| row.checked_add(rows));
        let bytes = bytes.ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
        let location = Location::of(machine, self.address, bytes)?.device_accessible()?;
        Ok((location, self.address..self.address + bytes))
    }
}
