/* SPDX-License-Identifier: Apache-2.0
 * Two networks trained in turn, each with the other's output as its target: an iteration is the
 * pair.
 *   pair [iterations] */
#include "net.h"

/* Runs `from` forward, and trains `to` with the result as its target. */
static void turn(struct net *from, struct net *to, int batch, uint32_t seed) {
    int in = batch * from->width[0], back = batch * to->width[0];
    float *noise = net_temporary(from->stream, in), *x = net_temporary(to->stream, back);
    net_fill<<<NET_GRID(in), NET_BLOCK, 0, from->stream>>>(noise, in, seed, 1.0f);
    net_forward(from, noise, batch, false);
    net_fill<<<NET_GRID(back), NET_BLOCK, 0, to->stream>>>(x, back, seed, 0.5f);
    net_forward(to, x, batch, true);
    net_backward(to, from->act[from->layers]);
    net_step(to, 0.01f);
}

int main(int argc, char **argv) {
    const int iterations = rounds_arg(argc, argv, 80);
    const int one[] = {12, 32, 8}, other[] = {20, 24, 16, 8};
    struct net a, b;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    net_create(&a, 2, one, 3, stream);
    net_create(&b, 3, other, 4, stream);
    for (int i = 0; i < iterations; i++) {
        mark();
        turn(&a, &b, 16, 2 * i);
        turn(&b, &a, 16, 2 * i + 1);
    }
    checksum_print("pair", net_checksum(&b, net_checksum(&a, CHECKSUM_START)));
    return 0;
}
