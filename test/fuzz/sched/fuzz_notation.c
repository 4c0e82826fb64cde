/* SPDX-License-Identifier: Apache-2.0
 *
 * Any text as an event and as a recording's configuration. Accepted input is written and read again
 * as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/record/notation.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_event(const char *word) {
    struct sched_event e;
    char text[NOTATION_BYTES], again[NOTATION_BYTES];
    if (notation_read_event(word, &e)) return;
    if (notation_event(text, &e) != strlen(text) || notation_read_event(text, &e)) abort();
    notation_event(again, &e);
    if (strcmp(text, again) != 0) abort();
}

static void try_config(const char *line) {
    struct sched_config c;
    char text[NOTATION_BYTES], again[NOTATION_BYTES];
    if (notation_read_config(line, &c)) return;
    notation_config(text, &c);
    if (notation_read_config(text, &c)) abort();
    notation_config(again, &c);
    if (strcmp(text, again) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    try_event(text);
    try_config(text);
    free(text);
    return 0;
}
