// Running sums are those of the standard library.
#include "common.h"
#include <cub/device/device_scan.cuh>
int main() {
    for (int n : sizes()) {
        auto values = random_values<int>(n, 100);
        Device<int> in(values), out(n);
        std::vector<int> expected(n);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceScan::ExclusiveSum(room, bytes, in.data, out.data, n);
        });
        std::exclusive_scan(values.begin(), values.end(), expected.begin(), 0);
        CHECK(out.read() == expected);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceScan::InclusiveSum(room, bytes, in.data, out.data, n);
        });
        std::inclusive_scan(values.begin(), values.end(), expected.begin());
        CHECK(out.read() == expected);
    }
    return ok();
}
