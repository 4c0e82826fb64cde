/* SPDX-License-Identifier: Apache-2.0
 *
 * The request of a Slurm job to Salus: the options of sbatch, as a text that travels with the job,
 * and as arguments of `salusctl environment`. Pure.
 *
 * Owner: the caller. Threads: any.
 */
#ifndef DAEMON_PLACE_SLURM_ASK_H
#define DAEMON_PLACE_SLURM_ASK_H

#include <stddef.h>
#include <stdint.h>

#define ASK_WHY_BYTES 320
#define ASK_TEXT_BYTES 512
#define ASK_WORD_BYTES 24

enum ask_class { ASK_TRAINING, ASK_SERVICE, ASK_BEST_EFFORT };

struct ask {
    enum ask_class class;
    uint64_t mem_bytes; /* total device memory; 0: not known */
    /* The persistent part of mem_bytes; equal to mem_bytes if not given. */
    uint64_t persistent_bytes;
    uint64_t slo_ns;     /* 0: none; only for services */
    uint32_t util_milli; /* thousandths of a GPU's time, 1 to 1000; 0: not known */
};

/* X(option of sbatch, its argument in help, NAME, sentence) */
#define ASK_OPTIONS(X)                                                                          \
    X("salus-class", "service|training|be", CLASS,                                              \
      "kind of the job: a service is placed first, best effort (be) last")                      \
    X("salus-mem", "SIZE", MEM, "device memory that the job needs in all, such as 4GiB")        \
    X("salus-persistent", "SIZE", PERSISTENT,                                                   \
      "part of that memory that the job keeps between iterations; jobs share the rest in turn") \
    X("salus-slo", "TIME", SLO, "latency target of a service's requests, such as 20ms")         \
    X("salus-util", "PERCENT", UTIL,                                                            \
      "part of a GPU's time that the job uses when it runs alone, such as 40%")

enum ask_option {
#define X(option, argument, name, sentence) ASK_##name,
    ASK_OPTIONS(X)
#undef X
        ASK_OPTION_COUNT
};

/* Sets one option as typed. Returns 0, or -EINVAL with the error in `why` (ASK_WHY_BYTES). */
int ask_set(struct ask *a, enum ask_option option, const char *value, char *why);

/* Checks the options against each other and derives missing values. Returns as ask_set does. */
int ask_check(struct ask *a, char *why);

/* Print and parse "class=be mem=4294967296 ...", at most ASK_TEXT_BYTES. ask_parse returns 0, or
 * -EINVAL with an empty request in `a`. Unknown words are ignored, so that a newer plugin may write
 * more. */
void ask_print(const struct ask *a, char *out, size_t cap);
int ask_parse(struct ask *a, const char *text);

/* The arguments of `salusctl environment` besides those that select the daemon: pairs of option and
 * value. */
#define ASK_WORDS_MOST 8
struct ask_words {
    char text[ASK_WORDS_MOST][ASK_WORD_BYTES];
    int count;
};
void ask_words(const struct ask *a, struct ask_words *out);

const char *ask_class_name(enum ask_class class);

#endif
