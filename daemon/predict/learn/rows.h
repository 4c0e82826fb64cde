/* SPDX-License-Identifier: Apache-2.0
 *
 * Measurements of programs that had a device to themselves: a table (common/text/csv.h) whose first
 * line names its columns.
 *
 * Required columns are "family", "device" and "utilisation" (0 to 1), and either "model" (a file
 * beside the table) with "batch", or all of columns_name. Optional columns are "name",
 * "persistent_bytes", "ephemeral_bytes", and the estimates of these by equation (2),
 * "persistent_estimate" and "ephemeral_estimate". For a model the estimates are computed from the
 * file and "optimiser" (default sgd).
 *
 * Owner: the caller.
 */
#ifndef DAEMON_PREDICT_LEARN_ROWS_H
#define DAEMON_PREDICT_LEARN_ROWS_H

#include "daemon/predict/learn/columns.h"
#include "daemon/predict/onnx/complaint.h"

#define ROWS_MAX 100000u
#define ROWS_FAMILIES_MAX 64u
#define ROWS_NAME_BYTES 48
#define ROWS_FILE_MAX ((size_t)64 << 20)

struct rows {
    uint32_t count, families_count;
    struct columns *x;
    double *utilisation;
    uint32_t *family;                   /* index of the family, per row */
    double *persistent, *ephemeral;     /* measured, bytes; 0: not known */
    double *persistent_2, *ephemeral_2; /* by equation (2); 0: not known */
    char families[ROWS_FAMILIES_MAX][ROWS_NAME_BYTES];
    char device[ROWS_NAME_BYTES]; /* the device of all rows */
};

/* Reads the rows of a device from a file; device NULL: the only device in the file. Returns 0, or
 * -EINVAL or -ENOMEM with the reason in `why`; the caller finishes the rows in either case. */
int rows_read(struct rows *r, const char *path, const char *device, struct complaint *why);
void rows_finish(struct rows *r);

#endif
