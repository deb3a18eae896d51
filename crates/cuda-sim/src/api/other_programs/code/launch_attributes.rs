//! Attributes of launches: what a launch is told beyond its shape.

use cuda_sys::{CUevent, CUlaunchAttribute, CUlaunchAttributeID as Id, CUlaunchConfig, CUresult};

use crate::api::Result;
use crate::api::arguments::{In, Items};

/// The attributes that mean something here. The rest are hints about caches, order and priority: a
/// launch that starts later than it may is right too.
#[derive(Default)]
pub(in crate::api) struct LaunchAttributes {
    pub(in crate::api) cooperative: bool,
    /// Events that are complete when the kernel is, which is late enough for each kind.
    pub(in crate::api) events: Vec<CUevent>,
}

impl LaunchAttributes {
    /// The attributes of a launch's configuration.
    ///
    /// # Errors
    /// `CUDA_ERROR_INVALID_CLUSTER_SIZE` for clusters of several blocks, which devices have from
    /// compute capability 9.0 on, `CUDA_ERROR_NOT_SUPPORTED` for kernels that other kernels
    /// change, and `CUDA_ERROR_INVALID_VALUE` for attributes that cuda.h does not name.
    pub(in crate::api) fn read(config: In<CUlaunchConfig>) -> Result<LaunchAttributes> {
        let config = config.read();
        // SAFETY: the program says how many attributes its configuration has.
        let given = unsafe { Items::new(config.attrs.cast_const(), config.numAttrs as usize) };
        let mut attributes = LaunchAttributes::default();
        given.iter()?.try_for_each(|attribute| attributes.add(&attribute))?;
        Ok(attributes)
    }

    fn add(&mut self, attribute: &CUlaunchAttribute) -> Result {
        let value = &attribute.value;
        match attribute.id {
            Id::CU_LAUNCH_ATTRIBUTE_COOPERATIVE => {
                // SAFETY: the identifier says that this is the member that the program has set, and
                // any bytes are a value of its type.
                self.cooperative = unsafe { value.cooperative } != 0;
            }
            Id::CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION => {
                // SAFETY: the identifier says that the program has set these three numbers.
                let size = unsafe { value.clusterDim };
                if [size.x, size.y, size.z] != [1; 3] {
                    return Err(CUresult::CUDA_ERROR_INVALID_CLUSTER_SIZE);
                }
            }
            Id::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT => {
                // SAFETY: the identifier says that the program has set an event; its handle is only
                // looked up.
                self.events.push(unsafe { value.programmaticEvent }.event);
            }
            Id::CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT => {
                // SAFETY: the identifier says that the program has set an event; its handle is only
                // looked up.
                self.events.push(unsafe { value.launchCompletionEvent }.event);
            }
            Id::CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE => {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            Id(..=16) => {}
            _ => return Err(CUresult::CUDA_ERROR_INVALID_VALUE),
        }
        Ok(())
    }
}
