/* SPDX-License-Identifier: Apache-2.0
 *
 * The argument list of a program, as it grows in an array of fixed size. Words are not copied.
 *
 * Owner: the caller, of the array and of the words.
 */
#ifndef COMMON_TEXT_WORD_LIST_H
#define COMMON_TEXT_WORD_LIST_H

#include <stdbool.h>

struct word_list {
    char **words;   /* words[count] is NULL */
    int count, cap; /* `cap` includes that NULL */
    bool full;      /* a word was left out */
};

#define WORD_LIST_OF(array) word_list_of(array, (int)(sizeof(array) / sizeof((array)[0])))
/* Returns an empty list. `cap` is at least 1. */
struct word_list word_list_of(char **words, int cap);

/* Appends a word, which exec does not write to. A word that does not fit is left out, and so are
 * all later ones. */
void word_list_add(struct word_list *l, const char *word);

/* Returns 0, or -E2BIG: a word was left out, and the rest must not be run. */
int word_list_check(const struct word_list *l);

#endif
