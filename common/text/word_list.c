/* SPDX-License-Identifier: Apache-2.0
 *
 * A list without one of its words would be another command, so `full` is sticky.
 */
#include "common/text/word_list.h"

#include <errno.h>
#include <stddef.h>

struct word_list word_list_of(char **words, int cap) {
    words[0] = NULL;
    return (struct word_list){.words = words, .cap = cap};
}

void word_list_add(struct word_list *l, const char *word) {
    if (l->count + 1 >= l->cap) l->full = true;
    if (l->full) return;
    l->words[l->count++] = (char *)word;
    l->words[l->count] = NULL;
}

int word_list_check(const struct word_list *l) {
    return l->full ? -E2BIG : 0;
}
