/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a program's PTX on the software GPU's interpreter, without daemon, and compares each
 * kernel's results with the host's reference.
 *
 *   play [--isa NAME] [--threads N] [--slice N] [--dump FILE] [--most N] EXPECTED IMAGE...
 *
 * Any number of pairs; an image is PTX. Without --isa, --threads or --slice, runs all builds of the
 * handlers that the processor supports, with several numbers of threads and budgets. Ends after
 * --most failures. Exits 1 if a kernel differs, 2 if a file cannot be read.
 */
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "daemon/device/soft/image/image.h"
#include "daemon/device/soft/isa/dispatch/select.h"
#include "test/lib/ptx/ptxrun.h"
#include "test/random/cases.h"
#include "test/random/language/inputs.h"

struct play {
    const char *isa; /* NULL: all builds */
    const char *image_path;
    uint32_t threads, slice; /* 0: several values */
    FILE *dump;
    struct cases cases;
    struct image image;
    uint32_t launches, failures, kernels, programs;
    uint32_t most; /* failures after which it ends */
};

/* A launch that takes more instructions than this counts as endless. */
#define PLAY_MOST_INSTRUCTIONS 20000000ull

static const char *const play_builds[] = {"base", "v3", "v4"};
static const struct { uint32_t threads, slice; } play_ways[] = {{1, 100000}, {4, 50}};

static void usage(void) {
    fprintf(stderr, "usage: play [--isa NAME] [--threads N] [--slice N] [--dump FILE] [--most N] "
                    "EXPECTED IMAGE...\n");
    exit(2);
}

static int has_enough(const struct play *p) {
    return p->most && p->failures >= p->most;
}

static void load_cases(struct play *p) {
    char why[160];
    size_t bytes;
    char *text = cases_file(p->image_path, &bytes);
    if (image_read(text, bytes, 90, IMAGE_RUN, &p->image, why, sizeof(why)) ||
        p->image.ptx_count != 1) {
        fprintf(stderr, "play: %s: no PTX in it\n", p->image_path);
        exit(2);
    }
    free(text);
}

static void run_kernel(struct play *p, struct ptxrun *r, const struct cases_kernel *k) {
    uint32_t *in = ptxrun_alloc(r, INPUTS_WORDS * 4);
    uint64_t *out = ptxrun_alloc(r, (size_t)k->out_words * 8);
    uint64_t *acc = ptxrun_alloc(r, (size_t)k->acc_words * 8);
    uint64_t params[7] = {(uintptr_t)in, (uintptr_t)out, (uintptr_t)acc};
    cases_prepare(&p->cases, k, in, out, acc, params + 3);
    r->shared = k->shared_bytes;
    const int err = ptxrun_launch3(r, k->name, k->grid, k->block, params, 7);
    p->launches++;
    if (!cases_check(k, out, acc, p->dump) || err) {
        p->failures++;
        printf("differs: seed %llu kernel %s (%s, isa %s, %u threads, slice %u)%s%s\n",
               (unsigned long long)p->cases.seed, k->name, p->image_path, isa_name(), r->threads,
               r->slice, err ? ": " : "", err ? *r->result.text ? r->result.text : r->why : "");
    }
}

static void run_way(struct play *p, uint32_t threads, uint32_t slice) {
    struct ptxrun *r = ptxrun_create(p->image.ptx[0], p->image.ptx_bytes[0], 1);
    if (!r->module) {
        printf("differs: seed %llu: %s: not loaded: %s\n", (unsigned long long)p->cases.seed,
               p->image_path, r->why);
        p->failures++;
    }
    r->threads = threads;
    r->slice = slice;
    r->max_steps = PLAY_MOST_INSTRUCTIONS / slice;
    for (uint32_t k = 0; r->module && k < p->cases.count && !has_enough(p); k++)
        run_kernel(p, r, &p->cases.kernels[k]);
    ptxrun_destroy(r);
}

static void run_build(struct play *p, const char *isa) {
    setenv("SALUS_SOFT_ISA", isa, 1);
    if (strcmp(isa_name(), isa)) return; /* not supported by this processor */
    for (size_t w = 0; w < sizeof(play_ways) / sizeof(play_ways[0]) && !has_enough(p); w++) {
        run_way(p, p->threads ? p->threads : play_ways[w].threads,
                p->slice ? p->slice : play_ways[w].slice);
        if (p->threads || p->slice) return;
    }
}

static int take_options(struct play *p, int argc, char **argv) {
    int a = 1;
    for (; a + 1 < argc && !strncmp(argv[a], "--", 2); a += 2) {
        const char *value = argv[a + 1];
        if (!strcmp(argv[a], "--isa"))
            p->isa = value;
        else if (!strcmp(argv[a], "--threads"))
            p->threads = (uint32_t)atoi(value);
        else if (!strcmp(argv[a], "--slice"))
            p->slice = (uint32_t)atoi(value);
        else if (!strcmp(argv[a], "--most"))
            p->most = (uint32_t)atoi(value);
        else if (!strcmp(argv[a], "--dump"))
            p->dump = fopen(value, "wb");
        else
            usage();
    }
    if (a == argc || (argc - a) % 2) usage();
    return a;
}

static void run_program(struct play *p, const char *expected, const char *image) {
    const uint32_t launches = p->launches, failures = p->failures;
    cases_read(&p->cases, expected);
    p->image_path = image;
    load_cases(p);
    if (p->isa) run_build(p, p->isa);
    for (size_t b = 0; !p->isa && b < sizeof(play_builds) / sizeof(play_builds[0]); b++)
        run_build(p, play_builds[b]);
    image_finish(&p->image);
    p->programs++;
    p->kernels += p->cases.count;
    printf("%s: %u launches of %u kernels, %u differ\n", image, p->launches - launches,
           p->cases.count, p->failures - failures);
    fflush(stdout);
}

int main(int argc, char **argv) {
    static struct play p;
    for (int a = take_options(&p, argc, argv); a < argc && !has_enough(&p); a += 2)
        run_program(&p, argv[a], argv[a + 1]);
    if (p.dump) fclose(p.dump);
    printf("random: %u programs, %u kernels, %u launches, %u differ\n", p.programs, p.kernels,
           p.launches, p.failures);
    return p.failures || !p.launches;
}
