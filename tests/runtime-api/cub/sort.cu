// Keys are sorted, and pairs stably, as by the standard library.
#include "common.h"
#include <cub/device/device_radix_sort.cuh>
int main() {
    for (int n : sizes()) {
        auto values = random_values<unsigned>(n, 1 << 20);
        Device<unsigned> in(values), out(n);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceRadixSort::SortKeys(room, bytes, in.data, out.data, n);
        });
        auto expected = values;
        std::sort(expected.begin(), expected.end());
        CHECK(out.read() == expected);
        if (n > 1000003) continue;
        std::vector<int> places(n), order(n);
        std::iota(places.begin(), places.end(), 0);
        order = places;
        Device<int> from(places), to(n);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceRadixSort::SortPairs(room, bytes, in.data, out.data, from.data,
                                                   to.data, n);
        });
        std::stable_sort(order.begin(), order.end(),
                         [&](int a, int b) { return values[a] < values[b]; });
        CHECK(to.read() == order);
    }
    return ok();
}
