// What a capture cannot hold is refused and ends it.
#include "../check.h"
int main() {
    cudaStream_t stream;
    cudaGraph_t graph;
    void *p;
    OK(cudaMalloc(&p, 4));
    OK(cudaStreamCreate(&stream));
    IS(cudaErrorIllegalState, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    IS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
    IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    IS(cudaErrorStreamCaptureInvalidated, cudaGetLastError());
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    IS(cudaErrorStreamCaptureUnsupported, cudaFree(p));
    IS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    void *q;
    OK(cudaMalloc(&q, 4));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(q));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(stream));
    cudaGetLastError();
    return ok();
}
