/* SPDX-License-Identifier: Apache-2.0
 * Inference: requests to three networks come at irregular times; in between the program waits. An
 * answer of one network takes several runs, with a wait for each.
 *   requests [count] */
#include <unistd.h>

#include "net.h"

int main(int argc, char **argv) {
    const int count = rounds_arg(argc, argv, 150);
    const int width[3][4] = {{16, 32, 8, 8}, {24, 48, 24, 16}, {8, 16, 16, 4}};
    struct net nets[3];
    cudaStream_t stream;
    uint32_t seed = 11;
    uint64_t sum = CHECKSUM_START;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < 3; i++)
        net_create(&nets[i], 3, width[i], 10 + i, stream);
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < count; i++) {
        int which = random_next(&seed) / 4096 % 3, answers = which == 2 ? 4 : 1;
        mark();
        for (int k = 0; k < answers; k++)
            sum = net_answer(&nets[which], 16, i + k, sum);
        uint32_t pause = random_next(&seed) / 4096 % 16; /* one in sixteen comes at once */
        if (pause) usleep(4000 + 1500 * pause);
    }
    for (int i = 0; i < 3; i++)
        sum = net_checksum(&nets[i], sum);
    checksum_print("requests", sum);
    return 0;
}
