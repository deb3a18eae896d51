// What the programs on CUB share: sizes, values, and calls in two steps.
#pragma once
#include "../check.h"
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

static std::vector<int> sizes() {
    std::vector<int> all = {0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 4097, 65537, 1000003};
    const char *most = getenv("MAX_ELEMENTS");
    if (!most || atoi(most) >= 10000000) all.push_back(10000000);
    return all;
}

template <typename T> std::vector<T> random_values(int n, int range) {
    std::mt19937 generator(n + 7);
    std::uniform_int_distribution<int> distribution(0, range - 1);
    std::vector<T> values(n);
    for (auto &value : values) value = T(distribution(generator));
    return values;
}

// Device memory of a vector's size.
template <typename T> struct Device {
    T *data = nullptr;
    size_t size;
    explicit Device(size_t n) : size(n) { OK(cudaMalloc(&data, n * sizeof(T))); }
    explicit Device(const std::vector<T> &values) : Device(values.size()) {
        OK(cudaMemcpy(data, values.data(), size * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~Device() { cudaFree(data); }
    std::vector<T> read() const {
        std::vector<T> values(size);
        OK(cudaMemcpy(values.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
        return values;
    }
};

// Asks an algorithm how much memory it needs, and runs it with that.
template <typename F> void run(F algorithm) {
    size_t bytes = 0;
    OK(algorithm(nullptr, bytes));
    Device<char> room(bytes ? bytes : 1);
    OK(algorithm(room.data, bytes));
    OK(cudaDeviceSynchronize());
}
