/* SPDX-License-Identifier: Apache-2.0
 *
 * A full list accepts no more words, and keeps reporting that.
 */
#include "common/text/word_list.h"

#include <criterion/criterion.h>
#include <errno.h>

Test(word_list, ends_with_null) {
    char *words[3];
    struct word_list l = WORD_LIST_OF(words);

    cr_assert_null(words[0]);
    word_list_add(&l, "one");
    cr_assert_str_eq(words[0], "one");
    cr_assert_null(words[1]);
    word_list_add(&l, "two");
    cr_assert_eq(l.count, 2);
    cr_assert_null(words[2]);
    cr_assert_eq(word_list_check(&l), 0);
}

Test(word_list, a_word_without_room_is_an_error) {
    char *words[4] = {NULL, NULL, NULL, (char *)"behind it"};
    struct word_list l = word_list_of(words, 3);

    for (int i = 0; i < 5; i++)
        word_list_add(&l, "word");
    cr_assert_eq(l.count, 2);
    cr_assert_null(words[2]);
    cr_assert_str_eq(words[3], "behind it");
    cr_assert_eq(word_list_check(&l), -E2BIG);
}
