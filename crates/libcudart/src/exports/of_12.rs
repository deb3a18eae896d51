//! The names of version 12 alone.

/// Hands the functions of version 12 alone to `callback`, by the modules that they are in.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_function_of_12 {
    ($($callback:tt)+) => {
        $($callback)+! {
            any_nodes {
                cudaGraphAddNode = cudaGraphAddNode_12;
                cudaGraphAddNode_v2 = cudaGraphAddNode_13;
            }
            captures {
                cudaStreamGetCaptureInfo = cudaStreamGetCaptureInfo_11;
                cudaStreamGetCaptureInfo_ptsz = cudaStreamGetCaptureInfo_11_ptsz;
                cudaStreamGetCaptureInfo_v2 = cudaStreamGetCaptureInfo_12;
                cudaStreamGetCaptureInfo_v2_ptsz = cudaStreamGetCaptureInfo_12_ptsz;
                cudaStreamGetCaptureInfo_v3 = cudaStreamGetCaptureInfo_13;
                cudaStreamGetCaptureInfo_v3_ptsz = cudaStreamGetCaptureInfo_13_ptsz;
                cudaStreamUpdateCaptureDependencies = cudaStreamUpdateCaptureDependencies_12;
                cudaStreamUpdateCaptureDependencies_ptsz = cudaStreamUpdateCaptureDependencies_12_ptsz;
                cudaStreamUpdateCaptureDependencies_v2 = cudaStreamUpdateCaptureDependencies_13;
                cudaStreamUpdateCaptureDependencies_v2_ptsz = cudaStreamUpdateCaptureDependencies_13_ptsz;
            }
            copies {
                cudaMemcpyBatchAsync = cudaMemcpyBatchAsync_12;
                cudaMemcpyBatchAsync_ptsz = cudaMemcpyBatchAsync_12_ptsz;
            }
            devices {
                cudaThreadExit = cudaDeviceReset;
                cudaThreadGetCacheConfig = cudaDeviceGetCacheConfig;
                cudaThreadGetLimit = cudaDeviceGetLimit;
                cudaThreadSetCacheConfig = cudaDeviceSetCacheConfig;
                cudaThreadSetLimit = cudaDeviceSetLimit;
                cudaThreadSynchronize = cudaDeviceSynchronize;
            }
            events {
                cudaEventElapsedTime_v2 = cudaEventElapsedTime;
            }
            graphs {
                cudaGraphAddDependencies = cudaGraphAddDependencies_12;
                cudaGraphAddDependencies_v2 = cudaGraphAddDependencies_13;
                cudaGraphGetEdges = cudaGraphGetEdges_12;
                cudaGraphGetEdges_v2 = cudaGraphGetEdges_13;
                cudaGraphNodeGetDependencies = cudaGraphNodeGetDependencies_12;
                cudaGraphNodeGetDependencies_v2 = cudaGraphNodeGetDependencies_13;
                cudaGraphNodeGetDependentNodes = cudaGraphNodeGetDependentNodes_12;
                cudaGraphNodeGetDependentNodes_v2 = cudaGraphNodeGetDependentNodes_13;
                cudaGraphRemoveDependencies = cudaGraphRemoveDependencies_12;
                cudaGraphRemoveDependencies_v2 = cudaGraphRemoveDependencies_13;
            }
            host_memory {
                cudaMemAdvise = cudaMemAdvise_12;
                cudaMemAdvise_v2 = cudaMemAdvise_13;
                cudaMemPrefetchAsync = cudaMemPrefetchAsync_12;
                cudaMemPrefetchAsync_ptsz = cudaMemPrefetchAsync_12_ptsz;
                cudaMemPrefetchAsync_v2 = cudaMemPrefetchAsync_13;
                cudaMemPrefetchAsync_v2_ptsz = cudaMemPrefetchAsync_13_ptsz;
            }
            memory {
                cudaPointerGetAttributes = cudaPointerGetAttributes_12;
            }
            properties {
                cudaChooseDevice = cudaChooseDevice_12;
                cudaGetDeviceProperties_v2 = cudaGetDeviceProperties_12;
            }
            versions {
                cudaGetDriverEntryPoint = cudaGetDriverEntryPoint_12;
                cudaGetDriverEntryPoint_ptsz = cudaGetDriverEntryPoint_12_ptsz;
                cudaRuntimeGetVersion = cudaRuntimeGetVersion_12;
            }
        }
    };
}

/// Hands the names of version 12 alone that are not supported to `callback`.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_refusal_of_12 {
    ($($callback:tt)+) => {
        $($callback)+! {
            cudaGetDeviceProperties
            cudaLaunchCooperativeKernelMultiDevice
            cudaSetDoubleForDevice
            cudaSetDoubleForHost
            cudaSignalExternalSemaphoresAsync_v2
            cudaSignalExternalSemaphoresAsync_v2_ptsz
            cudaWaitExternalSemaphoresAsync_v2
            cudaWaitExternalSemaphoresAsync_v2_ptsz
        }
    };
}
