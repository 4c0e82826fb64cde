/* SPDX-License-Identifier: Apache-2.0
 *
 * What is wrong with what a user gave, and what to do about it: one line of printable text,
 * whatever bytes stood in the file that it quotes. Owner: the caller. Not thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_COMPLAINT_H
#define DAEMON_PREDICT_ONNX_COMPLAINT_H

#include <stddef.h>

#define COMPLAINT_BYTES 400

struct complaint {
    char text[COMPLAINT_BYTES]; /* "" while there is none */
};

/* Both return the error, so that a caller can say and leave in one line: -EINVAL, -ENOMEM. */
int complaint_say(struct complaint *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int complaint_memory(struct complaint *c);

/* Control characters become '?', and bytes that are no UTF-8. What is no ASCII stays: names may be
 * in any language. */
void complaint_clean(char *text);
/* Bytes of the character that the text begins with; 0: it is no UTF-8, or a control character that
 * is no ASCII. */
size_t complaint_character(const char *text);

#endif
