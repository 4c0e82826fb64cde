/* SPDX-License-Identifier: Apache-2.0
 *
 * The control protocol's verbs, errors and records in C, from ctl.def: a struct for each record,
 * and a table that the encoder, the decoder, salusctl's tables and its JSON output all use.
 */
#ifndef PROTO_CONTROL_CTL_H
#define PROTO_CONTROL_CTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CTL_PROTOCOL 1
#define CTL_MESSAGE_MAX (64u << 10)
#define CTL_TEXT_BYTES 400

enum ctl_verb {
#define CTL_VERB(name, ...) CTL_V_##name,
#include "proto/control/ctl.def"
    CTL_V_COUNT
};

enum ctl_error {
#define CTL_ERROR(name, code, status, sentence) CTL_E_##name,
#include "proto/control/ctl.def"
    CTL_E_COUNT
};

/* X(NAME, struct): the records of replies. */
/* clang-format off */
#define CTL_RECORDS(X)                                                \
    X(STATUS, status) X(VERSION, version) X(JOB, job) X(GPU, gpu)     \
    X(LANE, lane) X(POLICY, policy) X(POLICY_CONFIG, policy_config) X(ENDED, ended) \
    X(PROFILE, profile) X(HINT, hint) X(KNOWN, known) \
    X(USER, user)
/* clang-format on */

enum ctl_record {
#define X(NAME, name) CTL_RECORD_##NAME,
    CTL_RECORDS(X)
#undef X
        CTL_RECORD_COUNT
};

/* Representation of kinds in records: OPT is the value plus one, 0 if there is none; INT is a two's
 * complement. */
enum ctl_kind {
    CTL_KIND_UINT,
    CTL_KIND_INT,
    CTL_KIND_OPT,
    CTL_KIND_NS,
    CTL_KIND_BYTES,
    CTL_KIND_TEXT
};

#define CTL_MEMBER_UINT(name) uint64_t name;
#define CTL_MEMBER_INT(name) int64_t name;
#define CTL_MEMBER_OPT(name) uint64_t name;
#define CTL_MEMBER_NS(name) uint64_t name;
#define CTL_MEMBER_BYTES(name) uint64_t name;
#define CTL_MEMBER_TEXT(name) char name[CTL_TEXT_BYTES];
#define CTL_MEMBER(name, kind, sentence) CTL_MEMBER_##kind(name)

/* Arguments of a request, by name. CTL_A_<name> is an argument's number. */
#define CTL_ARG_BYTES 256 /* fits a kernel's name, and all limits of a user */
#define CTL_ARG_MEMBER_UINT(name) uint64_t name;
#define CTL_ARG_MEMBER_INT(name) int64_t name;
#define CTL_ARG_MEMBER_TEXT(name) char name[CTL_ARG_BYTES];

struct ctl_args {
#define CTL_ARG(name, kind, ...) CTL_ARG_MEMBER_##kind(name)
#include "proto/control/ctl.def"
};
enum ctl_arg {
#define CTL_ARG(name, ...) CTL_A_##name,
#include "proto/control/ctl.def"
    CTL_A_COUNT
};

struct ctl_status {
#define CTL_STATUS_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_version {
#define CTL_VERSION_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_job {
#define CTL_JOB_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_gpu {
#define CTL_GPU_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};

struct ctl_lane {
#define CTL_LANE_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_policy {
#define CTL_POLICY_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_policy_config {
#define CTL_POLICY_CONFIG_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_ended {
#define CTL_ENDED_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_profile {
#define CTL_PROFILE_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_hint {
#define CTL_HINT_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_known {
#define CTL_KNOWN_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};
struct ctl_user {
#define CTL_USER_FIELD CTL_MEMBER
#include "proto/control/ctl.def"
};

/* Large enough for any record. */
union ctl_any {
#define X(NAME, name) struct ctl_##name name;
    CTL_RECORDS(X)
#undef X
};

struct ctl_field {
    const char *name;
    enum ctl_kind kind;
    size_t offset;
    const char *sentence;
};

struct ctl_verb_info {
    const char *text;
    const char *usage; /* arguments for salusctl's usage text; or NULL */
    enum ctl_record record;
    const char *args; /* names, separated by blanks */
    const char *sentence;
};

struct ctl_error_info {
    const char *code;
    int status; /* salusctl's exit status */
    const char *sentence;
};

/* Way in which salusctl parses an argument; see proto/control/ctl.def. */
enum ctl_style {
    CTL_STYLE_COUNT,
    CTL_STYLE_SIGNED,
    CTL_STYLE_TIME,
    CTL_STYLE_PART,
    CTL_STYLE_SWITCH,
    CTL_STYLE_AUTO,
    CTL_STYLE_SLO_OF,
    CTL_STYLE_PAIRS,
    CTL_STYLE_NUMBER,
    CTL_STYLE_USER,
    CTL_STYLE_OPTION,
    CTL_STYLE_CHOSEN,
    CTL_STYLE_FLAG,
    CTL_STYLE_OTHER
};

struct ctl_arg_info {
    const char *name;
    enum ctl_kind kind;
    enum ctl_style style;
    size_t offset; /* offset in struct ctl_args */
};

const struct ctl_verb_info *ctl_verb_info(enum ctl_verb verb);
/* Returns the deprecated text of the verb; NULL: it has none, or is CTL_V_COUNT. */
const char *ctl_verb_alias(enum ctl_verb verb);
/* True if the verb has the argument. */
bool ctl_verb_takes(enum ctl_verb verb, enum ctl_arg arg);
const struct ctl_arg_info *ctl_arg_info(enum ctl_arg arg);
const struct ctl_error_info *ctl_error_info(enum ctl_error error);

/* Returns the fields of a record and sets *count. */
const struct ctl_field *ctl_fields(enum ctl_record record, int *count);
size_t ctl_record_bytes(enum ctl_record record);

/* Return a field of a record, which is given as a struct of that kind. */
const char *ctl_field_text(const void *record, const struct ctl_field *f);
uint64_t ctl_field_number(const void *record, const struct ctl_field *f);

#endif
