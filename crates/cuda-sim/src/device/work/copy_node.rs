//! Copies of graphs: checked when a node is made, looked up again at each launch.

use std::ops::Range;
use std::sync::Arc;

use cuda_sys::{CUmemorytype as Kind, CUresult};
use ptx_jit::AccessKind;

use super::copy::{CopyEnd, in_place};
use super::location::Location;
use super::pitched::{Extent, PitchedPointer, copy_3d_job};
use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::device::streams::operation::{CopyNodeEnd, CopyParameters};
use crate::queue::Job;

impl CopyNodeEnd {
    /// The address of a row.
    fn row(&self, row: u64, plane: u64) -> Option<u64> {
        let rows = (self.z.checked_add(plane)?).checked_mul(self.height.max(1))?;
        let rows = rows.checked_add(self.y)?.checked_add(row)?;
        self.address.checked_add(rows.checked_mul(self.pitch)?)?.checked_add(self.x)
    }
}

impl CopyParameters {
    /// Checks extents and memory, and notes what that is.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an empty extent, rows that overlap, and memory that is not
    /// there; `CUDA_ERROR_NOT_SUPPORTED` for arrays.
    pub(crate) fn check(&mut self, machine: &SimulatedMachine) -> Result<(), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        if self.width == 0 || self.height == 0 || self.depth == 0 {
            return Err(invalid);
        }
        for side in [&self.from, &self.to] {
            match side.kind {
                Kind::CU_MEMORYTYPE_ARRAY => return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
                Kind::CU_MEMORYTYPE_HOST
                | Kind::CU_MEMORYTYPE_DEVICE
                | Kind::CU_MEMORYTYPE_UNIFIED => {}
                _ => return Err(invalid),
            }
            let several_rows = self.height > 1 || self.depth > 1;
            if several_rows && side.pitch < side.x.saturating_add(self.width) {
                return Err(invalid);
            }
            if self.depth > 1 && side.height < side.y.saturating_add(self.height) {
                return Err(invalid);
            }
        }
        self.from.is_page_locked = self.location(machine, &self.from)?.0.is_page_locked();
        self.to.is_page_locked = self.location(machine, &self.to)?.0.is_page_locked();
        Ok(())
    }

    /// The copy as work.
    ///
    /// # Errors
    /// Those of [`check`](CopyParameters::check) about memory.
    pub(crate) fn job(
        &self,
        machine: &SimulatedMachine,
        context: &Context,
    ) -> Result<Arc<dyn Job>, CUresult> {
        let device = context.device;
        let ends = [self.location(machine, &self.to)?, self.location(machine, &self.from)?];
        // Of a copy between devices each makes its own end, as with `cuMemcpyPeer`.
        let [to, from] = ends.each_ref().map(|(location, _)| location.device());
        let is_between = to.is_some() && from.is_some() && to != from;
        let open = |(location, bytes): (Location, Range<u64>), access| {
            let by = location.device().filter(|_| is_between).unwrap_or(device.id.ordinal);
            location.open_to(machine, by, bytes, access)
        };
        let [to, from] = ends;
        let (to, from) = (open(to, AccessKind::Write)?, open(from, AccessKind::Read)?);
        let start = |side: &CopyNodeEnd| side.row(0, 0).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE);
        let (to_start, from_start) = (start(&self.to)?, start(&self.from)?);
        if (self.height, self.depth) == (1, 1) {
            let end = |address, location| CopyEnd { address, location };
            let (to, from) = (end(to_start, to), end(from_start, from));
            return Ok(in_place(to, from, self.width, &device.health));
        }
        let rows = |side: &CopyNodeEnd, address, location| {
            let (pitch, rows) = (side.pitch, side.height.max(1));
            PitchedPointer { address, pitch, rows, location }
        };
        let (to, from) = (rows(&self.to, to_start, to), rows(&self.from, from_start, from));
        let extent = Extent { width: self.width, height: self.height, depth: self.depth };
        Ok(copy_3d_job(to, from, extent, &device.health))
    }

    /// The location of all rows of an end together, and the addresses that they span.
    fn location(
        &self,
        machine: &SimulatedMachine,
        side: &CopyNodeEnd,
    ) -> Result<(Location, Range<u64>), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let start = side.row(0, 0).ok_or(invalid)?;
        let last = side.row(self.height - 1, self.depth - 1).ok_or(invalid)?;
        let end = last.checked_add(self.width).ok_or(invalid)?;
        let location = Location::of(machine, start, end - start)?;
        let location = match side.kind {
            Kind::CU_MEMORYTYPE_DEVICE => location.device_accessible()?,
            _ if side.is_page_locked && location.is_pageable() => return Err(invalid),
            _ => location,
        };
        Ok((location, start..end))
    }
}
