/* SPDX-License-Identifier: Apache-2.0
 *
 * Text from elsewhere, made fit to be read: by people, by terminals, and by programs that take
 * nothing but UTF-8. Pure.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* The bytes of the character at `text`, of which there are `bytes`; 0: it is no UTF-8, or controls
 * the output (C0, DEL, C1, and the separators of lines and paragraphs). */
size_t utf8_shown(const char *text, size_t bytes);

/* Replaces each byte that belongs to no such character by a question mark. */
void utf8_clean(char *text, size_t bytes);

#endif
