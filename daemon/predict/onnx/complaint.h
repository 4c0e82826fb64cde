/* SPDX-License-Identifier: Apache-2.0
 *
 * An error message about a user's input and what to do about it: one line of printable text,
 * whatever bytes the quoted file contains. Owner: the caller. Not thread-safe.
 */
#ifndef DAEMON_PREDICT_ONNX_COMPLAINT_H
#define DAEMON_PREDICT_ONNX_COMPLAINT_H

#include <stddef.h>

#define COMPLAINT_BYTES 400

struct complaint {
    char text[COMPLAINT_BYTES]; /* "" if there is no error */
};

/* Both return the error, -EINVAL or -ENOMEM, so that a caller can report and return in one line. */
int complaint_say(struct complaint *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int complaint_memory(struct complaint *c);

/* Replaces control characters and bytes that are not UTF-8 by '?'. Other characters outside ASCII
 * stay, because names may be in any language. */
void complaint_clean(char *text);
/* Length of the first character in bytes; 0 if it is invalid UTF-8 or a control character outside
 * ASCII. */
size_t complaint_character(const char *text);

#endif
