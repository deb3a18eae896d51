// Philox4x32-10: 128 random bits from a counter and a key, with no state, so that element i needs
// nothing but its number. Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3"
// (2011).
#pragma once

#include <cstdint>

struct Words {
    uint32_t w0, w1, w2, w3;

    __device__ uint64_t low() const { return static_cast<uint64_t>(w0) << 32 | w1; }
    __device__ uint64_t high() const { return static_cast<uint64_t>(w2) << 32 | w3; }
};

// The words of element `index` in the sequence that (seed, offset) names.
__device__ inline Words philox(uint64_t seed, uint64_t index, uint64_t offset) {
    uint32_t key0 = static_cast<uint32_t>(seed);
    uint32_t key1 = static_cast<uint32_t>(seed >> 32);
    Words c = {static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
               static_cast<uint32_t>(offset), static_cast<uint32_t>(offset >> 32)};
#pragma unroll
    for (int round = 0; round < 10; ++round) {
        const uint64_t product0 = static_cast<uint64_t>(0xD2511F53u) * c.w0;
        const uint64_t product1 = static_cast<uint64_t>(0xCD9E8D57u) * c.w2;
        c = {static_cast<uint32_t>(product1 >> 32) ^ c.w1 ^ key0, static_cast<uint32_t>(product1),
             static_cast<uint32_t>(product0 >> 32) ^ c.w3 ^ key1, static_cast<uint32_t>(product0)};
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
    return c;
}
