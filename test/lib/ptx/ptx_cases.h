/* SPDX-License-Identifier: Apache-2.0
 *
 * Instructions to be judged one at a time: a frame is a module with a line "//case", in whose place
 * each of them is put.
 */
#ifndef TEST_LIB_PTX_CASES_H
#define TEST_LIB_PTX_CASES_H

#include <stddef.h>

struct ptx_frame {
    char *before, *after; /* owned */
};

/* 0, or -1: no such file, or it has no such line. */
int ptx_frame_read(struct ptx_frame *f, const char *path);
void ptx_frame_finish(struct ptx_frame *f);

/* The frame around `text`, malloc'd. */
char *ptx_frame_text(const struct ptx_frame *f, const char *text);

/* The result of ptx_parse for the frame around `text`. */
int ptx_frame_parse(const struct ptx_frame *f, const char *text, char *why, size_t why_bytes);

#endif
