/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests instructions one at a time: a frame is a module with a line "//case", which is replaced by
 * the instruction.
 */
#ifndef TEST_LIB_PTX_CASES_H
#define TEST_LIB_PTX_CASES_H

#include <stddef.h>

struct ptx_frame {
    char *before, *after; /* malloc'd */
};

/* Returns 0, or -1 if there is no such file or it has no such line. */
int ptx_frame_read(struct ptx_frame *f, const char *path);
void ptx_frame_finish(struct ptx_frame *f);

/* The frame with `text` in place of the case line, malloc'd. */
char *ptx_frame_text(const struct ptx_frame *f, const char *text);

/* The result of ptx_parse for the frame with `text`. */
int ptx_frame_parse(const struct ptx_frame *f, const char *text, char *why, size_t why_bytes);

#endif
