/* SPDX-License-Identifier: Apache-2.0
 *
 * What a program was refused, from the lines that the library wrote down (SALUS_REFUSALS): one
 * entry for each thing, with how often. The lines come from the program, which may write anything
 * there. One thread.
 */
#ifndef DAEMON_CTL_DOCTOR_REFUSED_H
#define DAEMON_CTL_DOCTOR_REFUSED_H

#include <stddef.h>
#include <stdint.h>

#define REFUSED_MAX 192
#define REFUSED_TODO_BYTES 512

enum refused_kind { REFUSED_KERNEL, REFUSED_MODULE, REFUSED_CALL, REFUSED_SYMBOL, REFUSED_KINDS };

struct refused {
    enum refused_kind kind;
    uint64_t times;
    char name[160], library[64], error[32], reason[256]; /* printable */
};

struct refused_list {
    struct refused items[REFUSED_MAX]; /* by kind, then the most frequent first, once sorted */
    int count;
    uint64_t started; /* times that a program connected */
    uint64_t omitted; /* lines for which there was no room, or that are none */
    uint64_t times[REFUSED_KINDS];
};

/* Takes a line without its end. */
void refused_take(struct refused_list *l, const char *line, size_t bytes);
/* All lines of a file: 0 or -errno. */
int refused_read(struct refused_list *l, const char *path);
void refused_sort(struct refused_list *l);

/* What may help, into REFUSED_TODO_BYTES; empty where nothing is known. */
void refused_advise(const struct refused *r, char *out);

#endif
