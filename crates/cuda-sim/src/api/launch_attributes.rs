//! What a launch can be told beyond its shape.

use cuda_sys::{CUevent, CUlaunchAttribute, CUlaunchAttributeID as Id, CUlaunchConfig, CUresult};

use super::Result;

/// What of it means something here. The rest are hints about caches, order and priority: a launch
/// that starts later than it may is right too.
#[derive(Default)]
pub(super) struct Wishes {
    pub(super) cooperative: bool,
    /// Events that are complete when the kernel is, which is late enough for each kind.
    pub(super) events: Vec<CUevent>,
}

impl Wishes {
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` for clusters of several blocks, which devices have from
    /// compute capability 9.0 on, `CUDA_ERROR_NOT_SUPPORTED` for kernels that other kernels
    /// change, and `CUDA_ERROR_INVALID_VALUE` for attributes that cuda.h does not name.
    ///
    /// # Safety
    /// There are as many attributes as the configuration says.
    pub(super) unsafe fn read(config: &CUlaunchConfig) -> Result<Wishes> {
        if config.numAttrs > 0 && config.attrs.is_null() {
            return Err(CUresult::CUDA_ERROR_INVALID_VALUE);
        }
        let mut wishes = Wishes::default();
        for index in 0..config.numAttrs as usize {
            // SAFETY: the caller's promise.
            let attribute = unsafe { config.attrs.add(index).read() };
            // SAFETY: as above: the value is of the attribute's kind.
            unsafe { wishes.add(&attribute) }?;
        }
        Ok(wishes)
    }

    /// # Safety
    /// The value is of the attribute's kind.
    unsafe fn add(&mut self, attribute: &CUlaunchAttribute) -> Result {
        let value = &attribute.value;
        // SAFETY: the caller's promise, for each field of the union.
        unsafe {
            match attribute.id {
                Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => self.cooperative = value.cooperative != 0,
                Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                    let size = value.clusterDim;
                    if [size.x, size.y, size.z] != [1; 3] {
                        return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
                    }
                }
                Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                    self.events.push(value.programmaticEvent.event);
                }
                Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                    self.events.push(value.launchCompletionEvent.event);
                }
                Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                    return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
                }
                Id(..=16) => {}
                _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
            }
        }
        Ok(())
    }
}
