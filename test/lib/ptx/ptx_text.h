/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing in tests: the text is copied to memory of exactly its length, so that a sanitizer sees
 * any read beyond it. Modules that are accepted must pass ptx_check.
 */
#ifndef TEST_LIB_PTX_TEXT_H
#define TEST_LIB_PTX_TEXT_H

#include <stddef.h>

#include "daemon/device/soft/instructions/ptx_ir.h"

#define PTX_TEXT_HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"

/* The result of ptx_parse; *m is NULL on failure, `why` at least 160 bytes. Aborts when ptx_check
 * complains. */
int ptx_text_parse(const char *text, size_t bytes, struct ptx_module **m, char *why);

/* A module from PTX_TEXT_HEAD and `text`; aborts with the message when the parser rejects it. */
struct ptx_module *ptx_text_module(const char *text);

/* The only function of a module whose body is `body`; the caller frees the module. */
struct ptx_func *ptx_text_func(const char *body, struct ptx_module **m);

/* A whole file, malloc'd; aborts when it cannot be read. */
char *ptx_text_file(const char *path, size_t *bytes);

#endif
