/* SPDX-License-Identifier: Apache-2.0
 *
 * Names, texts and CUresults of errors, from the list in err.h. Plain errnos have the C library's
 * names; a few of them have an equivalent CUresult.
 */
#include "common/err.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

struct err_row {
    int number;
    const char *name, *text;
    int cuda;
};

static const struct err_row rows[] = {
#define X(name, number, text, cu) {number, #name, text, cu},
    ERR_LIST(X)
#undef X
};

#define CUDA_UNKNOWN 999

/* Errnos that have an equivalent CUresult. */
static const struct {
    int number, cuda;
} errnos[] = {
    {EINVAL, 1},       /* CUDA_ERROR_INVALID_VALUE */
    {EMSGSIZE, 1},     /* the same: a request is too large to be sent */
    {ENOMEM, 2},       /* CUDA_ERROR_OUT_OF_MEMORY */
    {ENODEV, 100},     /* CUDA_ERROR_NO_DEVICE */
    {ENOENT, 500},     /* CUDA_ERROR_NOT_FOUND */
    {EPERM, 800},      /* CUDA_ERROR_NOT_PERMITTED */
    {EACCES, 800},     /* the same */
    {EOPNOTSUPP, 801}, /* CUDA_ERROR_NOT_SUPPORTED */
    {ENOSYS, 801},     /* the same */
};

static const struct err_row *find(int err) {
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].number == err) return &rows[i];
    }
    return NULL;
}

const char *err_name(int err) {
    if (err == 0) return "OK";
    const struct err_row *row = find(err);
    if (row) return row->name;
    /* The project's own range contains no errno; negating is safe for all other numbers. */
    const char *name = err < 0 && err > ERR_BASE ? strerrorname_np(-err) : NULL;
    return name ? name : "ERR_UNKNOWN";
}

const char *err_text(int err) {
    if (err == 0) return "success";
    const struct err_row *row = find(err);
    if (row) return row->text;
    if (err == -EFBIG) return "a file or shared memory is larger than allowed (ulimit -f)";
    /* strerrordesc_np, unlike strerror, is untranslated and thread-safe. */
    const char *text = err < 0 && err > ERR_BASE ? strerrordesc_np(-err) : NULL;
    return text ? text : "unknown error";
}

int err_cuda(int err) {
    if (err == 0) return 0;
    const struct err_row *row = find(err);
    if (row) return row->cuda;
    for (size_t i = 0; i < sizeof(errnos) / sizeof(errnos[0]); i++) {
        if (err == -errnos[i].number) return errnos[i].cuda;
    }
    return CUDA_UNKNOWN;
}
