/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes foreign text fit for users, for terminals, and for programs that accept only UTF-8. Pure.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stddef.h>

/* Returns the length of the character at `text`, of which there are `bytes`. Returns 0 if it is not
 * UTF-8, or is a control character (C0, DEL, C1, and the separators of lines and paragraphs). */
size_t utf8_shown(const char *text, size_t bytes);

/* Replaces each byte that belongs to no such character by a question mark. */
void utf8_clean(char *text, size_t bytes);

#endif
