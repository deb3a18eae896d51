//! The names of version 13 alone.

/// Hands the functions of version 13 alone to `callback`, by the modules that they are in.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_function_of_13 {
    ($($callback:tt)+) => {
        $($callback)+! {
            any_nodes {
                cudaGraphAddNode = cudaGraphAddNode_13;
            }
            captures {
                cudaStreamGetCaptureInfo = cudaStreamGetCaptureInfo_13;
                cudaStreamGetCaptureInfo_ptsz = cudaStreamGetCaptureInfo_13_ptsz;
                cudaStreamUpdateCaptureDependencies = cudaStreamUpdateCaptureDependencies_13;
                cudaStreamUpdateCaptureDependencies_ptsz = cudaStreamUpdateCaptureDependencies_13_ptsz;
            }
            copies {
                cudaMemcpyBatchAsync = cudaMemcpyBatchAsync_13;
                cudaMemcpyBatchAsync_ptsz = cudaMemcpyBatchAsync_13_ptsz;
            }
            graphs {
                cudaGraphAddDependencies = cudaGraphAddDependencies_13;
                cudaGraphGetEdges = cudaGraphGetEdges_13;
                cudaGraphNodeGetDependencies = cudaGraphNodeGetDependencies_13;
                cudaGraphNodeGetDependentNodes = cudaGraphNodeGetDependentNodes_13;
                cudaGraphRemoveDependencies = cudaGraphRemoveDependencies_13;
            }
            host_memory {
                cudaMemAdvise = cudaMemAdvise_13;
                cudaMemPrefetchAsync = cudaMemPrefetchAsync_13;
                cudaMemPrefetchAsync_ptsz = cudaMemPrefetchAsync_13_ptsz;
            }
            memory {
                cudaPointerGetAttributes = cudaPointerGetAttributes_13;
            }
            pools {
                cudaMemGetDefaultMemPool;
                cudaMemGetMemPool;
                cudaMemSetMemPool;
            }
            properties {
                cudaChooseDevice = cudaChooseDevice_13;
                cudaGetDeviceProperties = cudaGetDeviceProperties_13;
            }
            versions {
                cudaGetDriverEntryPoint = cudaGetDriverEntryPoint_13;
                cudaGetDriverEntryPoint_ptsz = cudaGetDriverEntryPoint_13_ptsz;
                cudaRuntimeGetVersion = cudaRuntimeGetVersion_13;
            }
        }
    };
}

/// Hands the names of version 13 alone that are not supported to `callback`.
#[macro_export]
#[doc(hidden)]
macro_rules! for_each_refusal_of_13 {
    ($($callback:tt)+) => {
        $($callback)+! {
            __cudaGetProcAddress
            cudaDeviceGetHostAtomicCapabilities
            cudaDeviceGetP2PAtomicCapabilities
            cudaLogsCurrent
            cudaLogsDumpToFile
            cudaLogsDumpToMemory
            cudaLogsRegisterCallback
            cudaLogsUnregisterCallback
            cudaMemDiscardAndPrefetchBatchAsync
            cudaMemDiscardAndPrefetchBatchAsync_ptsz
            cudaMemDiscardBatchAsync
            cudaMemDiscardBatchAsync_ptsz
            cudaMemPrefetchBatchAsync
            cudaMemPrefetchBatchAsync_ptsz
        }
    };
}
