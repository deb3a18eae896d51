// Copies in all directions, by their kind or by the addresses; nothing is copied where nothing is
// asked for.
#include "../check.h"
int main() {
    int a[4] = {1, 2, 3, 4}, b[4] = {}, *p, *q;
    OK(cudaMalloc(&p, sizeof a));
    OK(cudaMalloc(&q, sizeof a));
    OK(cudaMemcpy(p, a, sizeof a, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(q, p, sizeof a, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpy(b, q, sizeof a, cudaMemcpyDeviceToHost));
    CHECK(!memcmp(a, b, sizeof a));
    memset(b, 0, sizeof b);
    OK(cudaMemcpy(b, a, sizeof a, cudaMemcpyHostToHost));
    CHECK(!memcmp(a, b, sizeof a));
    memset(b, 0, sizeof b);
    OK(cudaMemcpy(b, q, sizeof a, cudaMemcpyDefault));
    CHECK(!memcmp(a, b, sizeof a));
    OK(cudaMemcpy(b, NULL, 0, cudaMemcpyDeviceToHost));
    IS(cudaErrorInvalidMemcpyDirection, cudaMemcpy(b, q, 4, (enum cudaMemcpyKind)9));
    IS(cudaErrorInvalidValue, cudaMemcpy(q, a, 1 << 20, cudaMemcpyHostToDevice));
    IS(cudaErrorInvalidValue, cudaMemcpy(b, a, sizeof a, cudaMemcpyDeviceToHost));
    OK(cudaFree(p));
    OK(cudaFree(q));
    return ok();
}
