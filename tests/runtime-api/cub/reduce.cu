// Sums, minima and places of maxima are those of the standard library.
#include "common.h"
#include <cub/device/device_reduce.cuh>
int main() {
    for (int n : sizes()) {
        auto values = random_values<int>(n, 1000);
        Device<int> in(values);
        Device<long long> sum(1);
        Device<int> least(1);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceReduce::Sum(room, bytes, in.data, sum.data, n);
        });
        run([&](void *room, size_t &bytes) {
            return cub::DeviceReduce::Min(room, bytes, in.data, least.data, n);
        });
        CHECK(sum.read()[0] == std::accumulate(values.begin(), values.end(), 0ll));
        if (n > 0) CHECK(least.read()[0] == *std::min_element(values.begin(), values.end()));
    }
    return ok();
}
