// Thrust's vectors and algorithms give what the standard library gives.
// Its `unique` in place lets a block read the last value of the block before, which that one may be
// writing again: the same value, and a race between blocks all the same.
// checks: memory,init,shared,streams,leaks
#include "common.h"
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/unique.h>
struct Square {
    __host__ __device__ int operator()(int value) const { return value * value; }
};
int main() {
    for (int n : sizes()) {
        if (n > 1000003) continue;
        auto values = random_values<int>(n, 1000);
        thrust::device_vector<int> device(values.begin(), values.end());
        CHECK(thrust::reduce(device.begin(), device.end(), 0) ==
              std::accumulate(values.begin(), values.end(), 0));
        thrust::transform(device.begin(), device.end(), device.begin(), Square());
        std::transform(values.begin(), values.end(), values.begin(), Square());
        thrust::sort(device.begin(), device.end());
        std::sort(values.begin(), values.end());
        std::vector<int> back(n);
        thrust::copy(device.begin(), device.end(), back.begin());
        CHECK(back == values);
        auto end = thrust::unique(device.begin(), device.end());
        values.erase(std::unique(values.begin(), values.end()), values.end());
        CHECK(end - device.begin() == (long)values.size());
        device.resize(values.size());
        thrust::inclusive_scan(device.begin(), device.end(), device.begin());
        std::inclusive_scan(values.begin(), values.end(), values.begin());
        back.resize(values.size());
        thrust::copy(device.begin(), device.end(), back.begin());
        CHECK(back == values);
    }
    return ok();
}
