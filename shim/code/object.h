/* SPDX-License-Identifier: Apache-2.0
 *
 * Device code inside files of host code: the fatbins of an ELF object, the members of an archive.
 * Cursors over untrusted bytes; they own nothing. Pure.
 */
#ifndef SHIM_CODE_OBJECT_H
#define SHIM_CODE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

struct object_piece {
    const unsigned char *data;
    size_t bytes;
};

/* An archive (ar), but not a thin one. */
struct archive {
    const unsigned char *at;
    size_t left;
};

/* True when the data begins like an archive. */
bool archive_open(struct archive *a, const void *data, size_t bytes);
/* Gives 1 and the next member, skipping the tables of names and symbols; 0 at the end; -EINVAL. */
int archive_next(struct archive *a, struct object_piece *member);

struct object {
    const unsigned char *data;
    size_t bytes;
    size_t section, sections;   /* the next section, and the number of sections */
    struct object_piece inside; /* the rest of the current section of fatbins */
};

/* True when the data is an object of host code. */
bool object_open(struct object *o, const void *data, size_t bytes);
/* Gives 1 and the next fatbin; 0 at the end; -EINVAL. */
int object_next(struct object *o, struct object_piece *fatbin);

#endif
