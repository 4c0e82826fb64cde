/* SPDX-License-Identifier: Apache-2.0
 * Compares CUB's device-wide algorithms with plain loops; see thrust.cu. Also uses 16-byte
 * elements, and the descriptors of run-length encoding and selection, which are pairs. */
#include <cub/cub.cuh>

#include <algorithm>
#include <vector>

#include "common.h"

struct pair {
    uint64_t a, b;
    __host__ __device__ bool operator!=(const pair &o) const { return a != o.a || b != o.b; }
};
struct add_pairs {
    __host__ __device__ pair operator()(const pair &x, const pair &y) const {
        return {x.a + y.a, x.b ^ y.b};
    }
};
struct below {
    uint32_t limit;
    __host__ __device__ bool operator()(uint32_t v) const { return v < limit; }
};

static uint64_t sum = CHECKSUM_START;

/* A buffer on the device. */
template <typename T> struct buffer {
    T *at;
    size_t count;
    explicit buffer(size_t n) : count(n) {
        CHECK(cudaMalloc(&at, (n + 1) * sizeof(T)));
        CHECK(cudaMemset(at, 0, (n + 1) * sizeof(T)));
    }
    explicit buffer(const std::vector<T> &v) : buffer(v.size()) {
        CHECK(cudaMemcpy(at, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    }
    ~buffer() { cudaFree(at); }
    void same(const char *what, const std::vector<T> &want) const {
        std::vector<T> got(want.size() + 1);
        CHECK(cudaMemcpy(got.data(), at, want.size() * sizeof(T), cudaMemcpyDeviceToHost));
        for (size_t i = 0; i < want.size(); i++)
            REQUIRE(!(got[i] != want[i]), "%s: element %zu", what, i);
        sum = checksum_add(sum, want.data(), want.size() * sizeof(T));
    }
};

/* Every algorithm is called twice: for the size of its scratch memory, and to run. */
#define RUN(algorithm, ...)                                               \
    do {                                                                  \
        size_t scratch_bytes = 0;                                         \
        CHECK(algorithm(nullptr, scratch_bytes, __VA_ARGS__));            \
        buffer<char> scratch(scratch_bytes);                              \
        CHECK(algorithm((void *)scratch.at, scratch_bytes, __VA_ARGS__)); \
    } while (0)

static void scans(const std::vector<uint32_t> &v, const std::vector<pair> &p) {
    const int n = (int)v.size();
    buffer<uint32_t> in(v), out(v.size());
    buffer<pair> pairs(p), pairs_out(p.size());
    std::vector<uint32_t> want(n);
    std::vector<pair> want_pairs(n);
    uint32_t s = 0;
    pair t = {0, 0};
    for (int i = 0; i < n; i++) {
        want[i] = s;
        s += v[i];
        want_pairs[i] = t = add_pairs()(t, p[i]);
    }
    RUN(cub::DeviceScan::ExclusiveSum, in.at, out.at, n);
    out.same("ExclusiveSum", want);
    RUN(cub::DeviceScan::InclusiveScan, pairs.at, pairs_out.at, add_pairs(), n);
    pairs_out.same("InclusiveScan of pairs", want_pairs);
}

static void selections(const std::vector<uint32_t> &v, const std::vector<uint32_t> &runs) {
    const int n = (int)v.size();
    buffer<uint32_t> in(v), again(runs), out(v.size()), lengths(v.size()), count(1);
    const below keep = {1u << 22};
    std::vector<uint32_t> want, once, length;
    for (int i = 0; i < n; i++) {
        if (keep(v[i])) want.push_back(v[i]);
        if (!i || runs[i] != runs[i - 1]) {
            once.push_back(runs[i]);
            length.push_back(0);
        }
        length.back()++;
    }
    RUN(cub::DeviceSelect::If, in.at, out.at, count.at, n, keep);
    count.same("count of Select::If", {(uint32_t)want.size()});
    out.same("Select::If", want);
    RUN(cub::DeviceSelect::Unique, again.at, out.at, count.at, n);
    count.same("count of Select::Unique", {(uint32_t)once.size()});
    out.same("Select::Unique", once);
    RUN(cub::DeviceRunLengthEncode::Encode, again.at, out.at, lengths.at, count.at, n);
    count.same("count of Encode", {(uint32_t)once.size()});
    out.same("values of Encode", once);
    lengths.same("lengths of Encode", length);
}

static void sorts(const std::vector<uint32_t> &keys, const std::vector<uint64_t> &v) {
    const int n = (int)keys.size();
    buffer<uint32_t> in(keys), out(keys.size());
    buffer<uint64_t> values(v), sorted(v.size()), total(1);
    std::vector<int> order(n);
    std::vector<uint32_t> want_keys(n);
    std::vector<uint64_t> want(n);
    uint64_t all = 0;
    for (int i = 0; i < n; i++) {
        order[i] = i;
        all += v[i];
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
    for (int i = 0; i < n; i++) {
        want_keys[i] = keys[order[i]];
        want[i] = v[order[i]];
    }
    RUN(cub::DeviceRadixSort::SortPairs, in.at, out.at, values.at, sorted.at, n);
    out.same("keys of SortPairs", want_keys);
    sorted.same("values of SortPairs", want);
    RUN(cub::DeviceReduce::Sum, values.at, total.at, n);
    total.same("Reduce::Sum", {all});
}

int main(int argc, char **argv) {
    const int rounds = rounds_arg(argc, argv, 1);
    uint32_t seed = 22;
    for (int r = 0; r < rounds; r++) {
        const size_t n = 60000 + random_next(&seed) % 10000;
        std::vector<uint32_t> v(n), runs(n);
        std::vector<uint64_t> large(n);
        std::vector<pair> pairs(n);
        for (size_t i = 0; i < n; i++) {
            v[i] = random_next(&seed);
            large[i] = (uint64_t)random_next(&seed) << 32 | v[i];
            runs[i] = i && random_next(&seed) % 3 ? runs[i - 1] : v[i] & 15;
            pairs[i] = {large[i], large[i] * 31};
        }
        scans(v, pairs);
        selections(v, runs);
        sorts(v, large);
    }
    checksum_print("cub", sum);
    return 0;
}
