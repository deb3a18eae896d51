//! Attributes of kernel nodes and of streams: values that a program sets and reads.

use cuda_sys::{CUlaunchAttributeID as Id, CUresult};

/// Attributes that were set, by number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AttributeSet(Vec<(u32, LaunchAttributeValue)>);

/// The bytes of a `CUlaunchAttributeValue`.
pub(crate) type LaunchAttributeValue = [u8; 64];

/// The attributes of kernel nodes. None of them changes what a kernel does here, or in what order.
pub(crate) const OF_KERNELS: &[Id] = &[
    Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    Id::CU_LAUNCH_ATTRIBUTE_PRIORITY,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    Id::CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
];

/// The attributes of streams.
pub(crate) const OF_STREAMS: &[Id] = &[
    Id::CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    Id::CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    Id::CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
];

impl AttributeSet {
    /// An attribute's value, zeros if it was not set.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that is not `known`.
    pub(crate) fn get(&self, id: Id, known: &[Id]) -> Result<LaunchAttributeValue, CUresult> {
        check(id, known)?;
        let set = self.0.iter().find(|(number, _)| *number == id.0);
        Ok(set.map_or([0; 64], |(_, value)| *value))
    }

    /// Sets an attribute.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_VALUE` for one that is not `known`.
    pub(crate) fn set(
        &mut self,
        id: Id,
        value: LaunchAttributeValue,
        known: &[Id],
    ) -> Result<(), CUresult> {
        check(id, known)?;
        self.0.retain(|(number, _)| *number != id.0);
        self.0.push((id.0, value));
        Ok(())
    }
}

fn check(id: Id, known: &[Id]) -> Result<(), CUresult> {
    known.contains(&id).then_some(()).ok_or(CUresult::CUDA_ERROR_INVALID_VALUE)
}
