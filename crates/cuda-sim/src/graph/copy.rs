//! Copy nodes: rows of bytes from one place to another.

use std::ops::Range;
use std::sync::Arc;

use cuda_sys::{CUmemorytype as Kind, CUresult};

use crate::device::copy::{End, in_place};
use crate::device::{Context, Location, Platform};
use crate::exec::Access;
use crate::queue::{Failure, Job};
use crate::time::Demand;

/// A copy of `depth` planes of `height` rows of `width` bytes, none of which is zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CopyParameters {
    pub(crate) from: Side,
    pub(crate) to: Side,
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// One end of a copy: where rows lie, as `CUDA_MEMCPY3D` says it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Side {
    pub(crate) kind: Kind,
    pub(crate) address: u64,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) z: u64,
    /// From one row to the next.
    pub(crate) pitch: u64,
    /// Rows from one plane to the next.
    pub(crate) height: u64,
}

impl Side {
    /// Bytes without gaps from an address on.
    fn plain(address: u64, location: &Location, bytes: u64) -> Side {
        let kind = match location.is_device() {
            true => Kind::CU_MEMORYTYPE_DEVICE,
            false => Kind::CU_MEMORYTYPE_HOST,
        };
        Side { kind, address, x: 0, y: 0, z: 0, pitch: bytes, height: 1 }
    }

    /// The address of a row.
    fn row(&self, row: u64, plane: u64) -> Option<u64> {
        let rows = (self.z.checked_add(plane)?).checked_mul(self.height.max(1))?;
        let rows = rows.checked_add(self.y)?.checked_add(row)?;
        self.address.checked_add(rows.checked_mul(self.pitch)?)?.checked_add(self.x)
    }
}

impl CopyParameters {
    /// A copy of `bytes` bytes without gaps.
    pub(crate) fn plain(to: &End, from: &End, bytes: u64) -> CopyParameters {
        CopyParameters {
            from: Side::plain(from.address, &from.location, bytes),
            to: Side::plain(to.address, &to.location, bytes),
            width: bytes,
            height: 1,
            depth: 1,
        }
    }

    /// Checks extents and memory.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for an empty extent, rows that overlap, and memory that is not
    /// there; `CUDA_ERROR_NOT_SUPPORTED` for arrays.
    pub(crate) fn check(&self, platform: &Platform) -> Result<(), CUresult> {
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
            self.location(platform, side)?;
        }
        Ok(())
    }

    /// The copy as work.
    ///
    /// # Errors
    /// Those of [`check`](CopyParameters::check) about memory.
    pub(super) fn job(
        &self,
        platform: &Platform,
        context: &Context,
    ) -> Result<Arc<dyn Job>, CUresult> {
        let device = context.device;
        let open = |side, access| {
            let (location, bytes) = self.location(platform, side)?;
            location.open_to(platform, device.id.ordinal, bytes, access)
        };
        let (to, from) = (open(&self.to, Access::Write)?, open(&self.from, Access::Read)?);
        let row = |plane, row| {
            let end = |side: &Side, location: &Location| {
                let address = side.row(row, plane).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)?;
                Ok(End { address, location: location.clone() })
            };
            Ok(in_place(end(&self.to, &to)?, end(&self.from, &from)?, self.width, &device.health))
        };
        if (self.height, self.depth) == (1, 1) {
            return row(0, 0);
        }
        let rows = (0..self.depth).flat_map(|z| (0..self.height).map(move |y| (z, y)));
        let rows = rows.map(|(z, y)| row(z, y)).collect::<Result<_, CUresult>>()?;
        Ok(Arc::new(Rows(rows)))
    }

    /// Where all rows of an end are together, and from where to where.
    fn location(
        &self,
        platform: &Platform,
        side: &Side,
    ) -> Result<(Location, Range<u64>), CUresult> {
        let invalid = CUresult::CUDA_ERROR_INVALID_VALUE;
        let start = side.row(0, 0).ok_or(invalid)?;
        let last = side.row(self.height - 1, self.depth - 1).ok_or(invalid)?;
        let end = last.checked_add(self.width).ok_or(invalid)?;
        let location = Location::of(platform, start, end - start)?;
        let location = match side.kind {
            Kind::CU_MEMORYTYPE_DEVICE => location.device_accessible()?,
            _ => location,
        };
        Ok((location, start..end))
    }
}

/// Work of which each piece is work of its own.
pub(super) struct Rows(pub(super) Vec<Arc<dyn Job>>);

impl Job for Rows {
    fn pieces(&self) -> u64 {
        self.0.len() as u64
    }

    fn demand(&self) -> Demand {
        let first = self.0.first().map_or(Demand::Nothing, |row| row.demand());
        first.times(self.0.len() as u64)
    }

    fn is_heavy(&self) -> bool {
        self.0.iter().any(|row| row.is_heavy())
    }

    fn run(&self, pieces: Range<u64>) -> Result<(), Failure> {
        let rows = &self.0[pieces.start as usize..pieces.end as usize];
        rows.iter().try_for_each(|row| row.run(0..row.pieces()))
    }
}
