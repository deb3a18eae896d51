// What is selected is what the standard library copies, in its order.
#include "common.h"
#include <cub/device/device_select.cuh>
struct Even {
    __host__ __device__ bool operator()(int value) const { return value % 2 == 0; }
};
int main() {
    for (int n : sizes()) {
        auto values = random_values<int>(n, 50);
        Device<int> in(values), out(n), count(1);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceSelect::If(room, bytes, in.data, out.data, count.data, n, Even());
        });
        std::vector<int> expected;
        std::copy_if(values.begin(), values.end(), std::back_inserter(expected), Even());
        auto found = out.read();
        CHECK(count.read()[0] == (int)expected.size());
        CHECK(std::equal(expected.begin(), expected.end(), found.begin()));
        std::sort(values.begin(), values.end());
        Device<int> sorted(values);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceSelect::Unique(room, bytes, sorted.data, out.data, count.data, n);
        });
        values.erase(std::unique(values.begin(), values.end()), values.end());
        found = out.read();
        CHECK(count.read()[0] == (int)values.size());
        CHECK(std::equal(values.begin(), values.end(), found.begin()));
    }
    return ok();
}
