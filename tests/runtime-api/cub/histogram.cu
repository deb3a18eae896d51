// A histogram counts as a loop does.
#include "common.h"
#include <cub/device/device_histogram.cuh>
int main() {
    for (int n : sizes()) {
        auto values = random_values<int>(n, 1000);
        const int bins = 64;
        Device<int> in(values), counts(bins);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceHistogram::HistogramEven(room, bytes, in.data, counts.data,
                                                       bins + 1, 0, 960, n);
        });
        std::vector<int> expected(bins);
        for (int value : values)
            if (value < 960) expected[value / 15]++;
        if (n > 0) CHECK(counts.read() == expected);
    }
    return ok();
}
