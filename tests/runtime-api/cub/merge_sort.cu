// A sort by comparison is that of the standard library.
// The serial merge of CUB 3.0 reads the key behind a part of shared memory and does not use it.
// checks: memory,shared,global,streams,leaks
#include "common.h"
#include <cub/device/device_merge_sort.cuh>
struct Greater {
    __host__ __device__ bool operator()(int a, int b) const { return a > b; }
};
int main() {
    for (int n : sizes()) {
        if (n > 1000003) continue;
        auto values = random_values<int>(n, 1 << 20);
        Device<int> keys(values);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceMergeSort::SortKeys(room, bytes, keys.data, n, Greater());
        });
        std::sort(values.begin(), values.end(), Greater());
        CHECK(keys.read() == values);
    }
    return ok();
}
