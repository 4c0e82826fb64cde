/* SPDX-License-Identifier: Apache-2.0
 *
 * The control protocol's verbs, errors and records as C, made from ctl.def: a struct for each
 * record and a table that encoder, decoder, tables for people and JSON all go by.
 */
#ifndef PROTO_CTL_H
#define PROTO_CTL_H

#include <stddef.h>
#include <stdint.h>

#define CTL_PROTOCOL 1
#define CTL_MESSAGE_MAX (64u << 10)
#define CTL_TEXT_BYTES 400

enum ctl_verb {
#define CTL_VERB(name, text, record, field, sentence) CTL_V_##name,
#include "proto/ctl.def"
    CTL_V_COUNT
};

enum ctl_error {
#define CTL_ERROR(name, code, status, sentence) CTL_E_##name,
#include "proto/ctl.def"
    CTL_E_COUNT
};

enum ctl_record { CTL_RECORD_STATUS, CTL_RECORD_VERSION, CTL_RECORD_JOB, CTL_RECORD_GPU };

enum ctl_kind { CTL_KIND_UINT, CTL_KIND_NS, CTL_KIND_BYTES, CTL_KIND_TEXT };

#define CTL_MEMBER_UINT(name) uint64_t name;
#define CTL_MEMBER_NS(name) uint64_t name;
#define CTL_MEMBER_BYTES(name) uint64_t name;
#define CTL_MEMBER_TEXT(name) char name[CTL_TEXT_BYTES];
#define CTL_MEMBER(name, kind, sentence) CTL_MEMBER_##kind(name)

struct ctl_status {
#define CTL_STATUS_FIELD CTL_MEMBER
#include "proto/ctl.def"
};
struct ctl_version {
#define CTL_VERSION_FIELD CTL_MEMBER
#include "proto/ctl.def"
};
struct ctl_job {
#define CTL_JOB_FIELD CTL_MEMBER
#include "proto/ctl.def"
};
struct ctl_gpu {
#define CTL_GPU_FIELD CTL_MEMBER
#include "proto/ctl.def"
};

/* Room for any of them. */
union ctl_any {
    struct ctl_status status;
    struct ctl_version version;
    struct ctl_job job;
    struct ctl_gpu gpu;
};

struct ctl_field {
    const char *name;
    enum ctl_kind kind;
    size_t offset;
    const char *sentence;
};

struct ctl_verb_info {
    const char *text;
    enum ctl_record record;
    const char *field; /* the one field a request may have beside v and verb; NULL: none */
    const char *sentence;
};

struct ctl_error_info {
    const char *code;
    int status; /* salusctl's exit status */
    const char *sentence;
};

const struct ctl_verb_info *ctl_verb_info(enum ctl_verb verb);
const struct ctl_error_info *ctl_error_info(enum ctl_error error);

/* The fields of a record; *count is set. */
const struct ctl_field *ctl_fields(enum ctl_record record, int *count);

/* A field of a record that is given as a struct of that kind. */
const char *ctl_field_text(const void *record, const struct ctl_field *f);
uint64_t ctl_field_number(const void *record, const struct ctl_field *f);

#endif
