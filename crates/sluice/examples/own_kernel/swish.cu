// y = x * sigmoid(beta * x), and its gradient.
//
// nvcc -ptx -arch=compute_75 swish.cu -o swish.ptx

static __device__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

extern "C" __global__ void swish(float *y, const float *x, float beta, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * sigmoid(beta * x[i]);
}

extern "C" __global__ void swish_backward(float *dx, const float *x, const float *dy, float beta, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float s = sigmoid(beta * x[i]);
    dx[i] = dy[i] * (s + beta * x[i] * s * (1.0f - s));
}
