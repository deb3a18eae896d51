// Attributes of streams are set, read and copied.
#include "../check.h"
int main() {
    cudaStream_t a, b;
    OK(cudaStreamCreate(&a));
    OK(cudaStreamCreate(&b));
    cudaStreamAttrValue value = {}, read = {};
    value.syncPolicy = cudaSyncPolicyYield;
    OK(cudaStreamSetAttribute(a, cudaStreamAttributeSynchronizationPolicy, &value));
    OK(cudaStreamGetAttribute(a, cudaStreamAttributeSynchronizationPolicy, &read));
    CHECK(read.syncPolicy == cudaSyncPolicyYield);
    OK(cudaStreamCopyAttributes(b, a));
    memset(&read, 0, sizeof read);
    OK(cudaStreamGetAttribute(b, cudaStreamAttributeSynchronizationPolicy, &read));
    CHECK(read.syncPolicy == cudaSyncPolicyYield);
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
    return ok();
}
