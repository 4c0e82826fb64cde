/* SPDX-License-Identifier: Apache-2.0
 *
 * The error number of an earlier failure is lost if all later output could be written.
 */
#include "common/standard_output.h"

#include <errno.h>
#include <string.h>

bool standard_output_flush(FILE *out, FILE *err, const char *program) {
    bool flushed = fflush(out) == 0;
    int error = errno;

    if (flushed && !ferror(out)) return true;
    fprintf(err, "%s: standard output: %s\n", program,
            flushed ? "not all output could be written" : strerror(error));
    clearerr(out);
    return false;
}
