// Runs of equal values, and sums by key, are those of a loop.
#include "common.h"
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
int main() {
    for (int n : sizes()) {
        auto keys = random_values<int>(n, 5);
        Device<int> in(keys), unique(n), lengths(n), count(1);
        run([&](void *room, size_t &bytes) {
            return cub::DeviceRunLengthEncode::Encode(room, bytes, in.data, unique.data,
                                                      lengths.data, count.data, n);
        });
        std::vector<int> values, runs;
        for (int key : keys)
            if (!values.empty() && values.back() == key) runs.back()++;
            else values.push_back(key), runs.push_back(1);
        auto found = unique.read(), found_runs = lengths.read();
        CHECK(count.read()[0] == (int)values.size());
        CHECK(std::equal(values.begin(), values.end(), found.begin()));
        CHECK(std::equal(runs.begin(), runs.end(), found_runs.begin()));
    }
    return ok();
}
