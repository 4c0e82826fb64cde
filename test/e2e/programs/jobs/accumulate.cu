/* SPDX-License-Identifier: Apache-2.0
 * Training with gradients that are added up over some micro-batches before each step; with one, it
 * is plain training with temporaries. With a third argument, each micro-batch is marked as an
 * iteration, so that gradients live across boundaries.
 *   accumulate [iterations [micro-batches [each]]] */
#include "net.h"

int main(int argc, char **argv) {
    const int iterations = rounds_arg(argc, argv, 60), parts = argc > 2 ? atoi(argv[2]) : 4;
    const int width[] = {16, 32, 24, 8};
    struct net net;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    net_create(&net, 3, width, 1, stream);
    for (int i = 0; i < iterations; i++) {
        if (argc <= 3) mark();
        for (int part = 0; part < parts; part++) {
            if (argc > 3) mark();
            net_batch(&net, 16, 64 * i + part);
        }
        net_step(&net, 0.01f / parts);
    }
    checksum_print("accumulate", net_checksum(&net, CHECKSUM_START));
    return 0;
}
