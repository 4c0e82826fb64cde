/* SPDX-License-Identifier: Apache-2.0
 *
 * Device code inside files of host code: the fatbins of an ELF object, the members of an archive.
 * Cursors over bytes that came from anywhere; they own nothing. Pure.
 */
#ifndef SHIM_CODE_OBJECT_H
#define SHIM_CODE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

struct object_piece {
    const unsigned char *data;
    size_t bytes;
};

/* An archive (ar), not a thin one. */
struct archive {
    const unsigned char *at;
    size_t left;
};

/* Whether it begins like one. */
bool archive_open(struct archive *a, const void *data, size_t bytes);
/* 1 and the next member, without the tables of names and symbols; 0 at the end; -EINVAL. */
int archive_next(struct archive *a, struct object_piece *member);

struct object {
    const unsigned char *data;
    size_t bytes;
    size_t section, sections;   /* the next, and how many there are */
    struct object_piece inside; /* what is left of the present section of fatbins */
};

/* Whether it is an object of host code. */
bool object_open(struct object *o, const void *data, size_t bytes);
/* 1 and the next fatbin; 0 at the end; -EINVAL. */
int object_next(struct object *o, struct object_piece *fatbin);

#endif
