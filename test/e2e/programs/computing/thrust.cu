/* SPDX-License-Identifier: Apache-2.0
 * Compares Thrust's algorithms with the standard library's. Scans, and algorithms built from
 * them, pass a flag and a value from block to block as one vector, so that a device which tears
 * vectors sometimes gets them wrong. Integers only: no result depends on an order. */
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "common.h"

typedef std::vector<uint32_t> words;
typedef std::vector<uint64_t> longs;

struct odd {
    __host__ __device__ bool operator()(uint64_t v) const { return v & 1; }
};

static uint64_t sum = CHECKSUM_START;

template <typename T>
static void same(const char *what, const thrust::device_vector<T> &got,
                 const std::vector<T> &want) {
    std::vector<T> host(got.size());
    thrust::copy(got.begin(), got.end(), host.begin());
    REQUIRE(host.size() == want.size(), "%s: %zu elements, expected %zu", what, host.size(),
            want.size());
    for (size_t i = 0; i < want.size(); i++)
        REQUIRE(host[i] == want[i], "%s: element %zu", what, i);
    sum = checksum_add(sum, host.data(), host.size() * sizeof(T));
}

template <typename T> static void scans(const std::vector<T> &v) {
    thrust::device_vector<T> in(v), out(v.size());
    std::vector<T> want(v.size());
    thrust::exclusive_scan(in.begin(), in.end(), out.begin());
    std::exclusive_scan(v.begin(), v.end(), want.begin(), T(0));
    same("exclusive_scan", out, want);
    thrust::inclusive_scan(in.begin(), in.end(), out.begin(), thrust::maximum<T>());
    std::inclusive_scan(v.begin(), v.end(), want.begin(), [](T a, T b) { return a > b ? a : b; });
    same("inclusive_scan", out, want);
}

template <typename T> static void selections(const std::vector<T> &v, const std::vector<T> &runs) {
    thrust::device_vector<T> in(v), out(v.size()), repeated(runs);
    std::vector<T> want, once(runs);
    out.resize(thrust::copy_if(in.begin(), in.end(), out.begin(), odd()) - out.begin());
    std::copy_if(v.begin(), v.end(), std::back_inserter(want), odd());
    same("copy_if", out, want);
    repeated.resize(thrust::unique(repeated.begin(), repeated.end()) - repeated.begin());
    once.resize(std::unique(once.begin(), once.end()) - once.begin());
    same("unique", repeated, once);
}

static void sums_by_key(const words &keys, const longs &v) {
    thrust::device_vector<uint32_t> in(keys), got_keys(keys.size());
    thrust::device_vector<uint64_t> values(v), got(v.size());
    words want_keys;
    longs want;
    for (size_t i = 0; i < keys.size(); i++) {
        if (i && keys[i] == keys[i - 1]) {
            want.back() += v[i];
            continue;
        }
        want_keys.push_back(keys[i]);
        want.push_back(v[i]);
    }
    auto end =
        thrust::reduce_by_key(in.begin(), in.end(), values.begin(), got_keys.begin(), got.begin());
    got_keys.resize(end.first - got_keys.begin());
    got.resize(end.second - got.begin());
    same("keys of reduce_by_key", got_keys, want_keys);
    same("reduce_by_key", got, want);
}

static void sorts(const words &keys, const longs &v) {
    thrust::device_vector<uint32_t> by(keys);
    thrust::device_vector<uint64_t> values(v);
    std::vector<size_t> order(keys.size());
    words want_keys(keys.size());
    longs want(keys.size()), down(v);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return keys[a] < keys[b]; });
    for (size_t i = 0; i < order.size(); i++) {
        want_keys[i] = keys[order[i]];
        want[i] = v[order[i]];
    }
    thrust::stable_sort_by_key(by.begin(), by.end(), values.begin()); /* a radix sort */
    same("keys of sort_by_key", by, want_keys);
    same("sort_by_key", values, want);
    std::sort(down.begin(), down.end(), std::greater<uint64_t>());
    thrust::sort(values.begin(), values.end(), thrust::greater<uint64_t>());
    same("sort", values, down);
    REQUIRE(thrust::reduce(values.begin(), values.end()) ==
                std::accumulate(v.begin(), v.end(), uint64_t(0)),
            "reduce");
}

int main(int argc, char **argv) {
    const int rounds = rounds_arg(argc, argv, 1);
    uint32_t seed = 21;
    for (int r = 0; r < rounds; r++) {
        const size_t n = 60000 + random_next(&seed) % 10000;
        words small(n), runs(n);
        longs large(n), long_runs(n);
        for (size_t i = 0; i < n; i++) {
            small[i] = random_next(&seed);
            large[i] = (uint64_t)random_next(&seed) << 32 | small[i];
            bool again = i && random_next(&seed) % 3;
            runs[i] = again ? runs[i - 1] : small[i] & 15;
            long_runs[i] = again ? long_runs[i - 1] : large[i];
        }
        scans(small);
        scans(large);
        selections(small, runs);
        selections(large, long_runs);
        sums_by_key(runs, large);
        sorts(small, large);
    }
    checksum_print("thrust", sum);
    return 0;
}
