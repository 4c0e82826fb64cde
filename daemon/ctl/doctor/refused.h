/* SPDX-License-Identifier: Apache-2.0
 *
 * A program's refused calls, from the lines that the library wrote (SALUS_REFUSALS): one entry for
 * each thing, with a count. The program may write anything into that file. One thread.
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
    char name[160], library[64], error[32], reason[256]; /* printable characters only */
};

struct refused_list {
    struct refused items[REFUSED_MAX]; /* once sorted: by kind, then the most frequent first */
    int count;
    uint64_t started; /* number of connections by programs */
    uint64_t omitted; /* lines that did not fit or were malformed */
    uint64_t times[REFUSED_KINDS];
};

/* Takes a line without its newline. */
void refused_take(struct refused_list *l, const char *line, size_t bytes);
/* Takes all lines of a file. Returns 0 or -errno. */
int refused_read(struct refused_list *l, const char *path);
void refused_sort(struct refused_list *l);

/* Writes a remedy into `out` (REFUSED_TODO_BYTES); empty if none is known. */
void refused_advise(const struct refused *r, char *out);

#endif
