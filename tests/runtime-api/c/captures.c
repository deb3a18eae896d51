// What a capture tells of itself, by the names of this version.
#include "library.h"
int main(void) {
    FUNCTION(cudaStreamCreate);
    FUNCTION(cudaStreamBeginCapture);
    FUNCTION(cudaStreamEndCapture);
    FUNCTION(cudaGraphDestroy);
    FUNCTION(cudaStreamDestroy);
    cudaStream_t stream;
    cudaGraph_t graph, seen = NULL;
    enum cudaStreamCaptureStatus status;
    unsigned long long id = 0;
    size_t count = 9;
    const cudaGraphNode_t *after;
    OK(my_cudaStreamCreate(&stream));
    OK(my_cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
#if CUDART_VERSION < 13000
    typedef cudaError_t First(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *);
    First *first = (First *)dlsym(library(), "cudaStreamGetCaptureInfo");
    OK(first(stream, &status, &id));
    CHECK(status == cudaStreamCaptureStatusActive && id != 0);
    typedef cudaError_t Second(cudaStream_t, enum cudaStreamCaptureStatus *, unsigned long long *,
                               cudaGraph_t *, const cudaGraphNode_t **, size_t *);
    Second *second = (Second *)dlsym(library(), "cudaStreamGetCaptureInfo_v2");
    OK(second(stream, &status, &id, &seen, &after, &count));
#else
    FUNCTION(cudaStreamGetCaptureInfo);
    const cudaGraphEdgeData *edges;
    OK(my_cudaStreamGetCaptureInfo(stream, &status, &id, &seen, &after, &edges, &count));
#endif
    CHECK(status == cudaStreamCaptureStatusActive && count == 0);
    OK(my_cudaStreamEndCapture(stream, &graph));
    CHECK(graph == seen);
    OK(my_cudaGraphDestroy(graph));
    OK(my_cudaStreamDestroy(stream));
    return ok();
}
