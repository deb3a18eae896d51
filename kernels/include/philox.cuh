// Philox4x32-10: 128 random bits from a counter and a key, with no state, so that a block of words
// needs nothing but its number. Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3"
// (2011).
#pragma once

#include <cstdint>

struct Words {
    uint32_t w0, w1, w2, w3;

    // By a number that is known when the loop around it is unrolled.
    __device__ uint32_t word(int lane) const {
        return lane == 0 ? w0 : lane == 1 ? w1 : lane == 2 ? w2 : w3;
    }

    // The first two words, or the other two, as 64 bits.
    __device__ uint64_t pair(int lane) const {
        return lane == 0 ? static_cast<uint64_t>(w0) << 32 | w1
                         : static_cast<uint64_t>(w2) << 32 | w3;
    }
};

// The words of a block in the sequence that (seed, offset) names.
__device__ inline Words philox(uint64_t seed, uint64_t block, uint64_t offset) {
    uint32_t key0 = static_cast<uint32_t>(seed);
    uint32_t key1 = static_cast<uint32_t>(seed >> 32);
    Words c = {static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
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
