/* SPDX-License-Identifier: Apache-2.0
 *
 * Any bytes as an input of the runtime linker, of the type that the first byte gives: accepted
 * inputs make an image whose headers give its length, and that the worker can read.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/device/soft/image/image.h"
#include "shim/code/fatbin.h"
#include "shim/code/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CAPABILITY 120

static const char ptx[] = ".version 7.0\n.target sm_75\n";

/* Reads the image as the worker does, in memory of exactly its length. */
static void read_back(const void *image) {
    char why[256];
    struct image read;
    size_t bytes = fatbin_measure(image);
    void *copy = malloc(bytes);
    if (!copy) return;
    if (fatbin_copy(image, copy, bytes)) abort();
    if (image_read(copy, bytes, CAPABILITY, IMAGE_RUN, &read, why, sizeof(why)) == 0)
        image_finish(&read);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char why[LINK_WHY_BYTES] = "";
    struct link link;
    size_t bytes, before;
    if (size < 2) return 0;
    void *input = malloc(size - 1);
    if (!input) return 0;
    memcpy(input, data + 1, size - 1);
    link_init(&link, CAPABILITY);
    link_add(&link, CU_JIT_INPUT_PTX, ptx, sizeof(ptx), NULL, why);
    before = link.image.len;
    CUresult r = link_add(&link, data[0] % 8, input, size - 1, "input", why);
    if (r && (!why[0] || link.image.len != before)) abort();
    const void *image = link_image(&link, &bytes);
    if (!image || fatbin_measure_within(image, bytes) != bytes) abort();
    read_back(image);
    link_finish(&link);
    free(input);
    return 0;
}
