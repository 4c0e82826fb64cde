/* SPDX-License-Identifier: Apache-2.0
 *
 * Control messages: the validation before msgpack decodes, requests, replies, and the exact text of
 * every rejection.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/policy/parameters.h"
#include "proto/control/ctl_msg.h"

static char why[CTL_MSG_WHY_BYTES];

#define SCAN(bytes) ctl_msg_scan(bytes, sizeof(bytes) - 1, 256, why, sizeof(why))

#define EXPECT_SCAN_REFUSED(bytes, text)        \
    do {                                        \
        cr_assert_eq(SCAN(bytes), -EINVAL);     \
        cr_assert_str_eq(why, text, "%s", why); \
    } while (0)

Test(ctl_msg, the_five_bytes_that_ask_for_64_gib_are_refused) {
    EXPECT_SCAN_REFUSED("\xdd\xff\xff\xff\xff",
                        "a value claims to be longer than the message (at byte 5)");
}

Test(ctl_msg, lengths_beyond_the_message_are_refused_for_every_kind) {
    static const struct {
        const char *bytes;
        size_t n;
    } lies[] = {{"\x81", 1},
                {"\x8f\x01", 2},
                {"\x92\x01", 2},
                {"\xa5"
                 "abc",
                 4},
                {"\xc4\x02\x00", 3},
                {"\xc5\xff\xff\x00", 4},
                {"\xc6\xff\xff\xff\xff", 5},
                {"\xc7\x01\x05", 3},
                {"\xc9\xff\xff\xff\xff\x01", 6},
                {"\xca\x00", 2},
                {"\xcb\x00\x00\x00\x00", 5},
                {"\xcf\x00", 2},
                {"\xd3\x00\x00", 3},
                {"\xd4\x01", 2},
                {"\xd8\x01\x02", 3},
                {"\xd9\x05"
                 "abcd",
                 6},
                {"\xda\x00\x02"
                 "a",
                 4},
                {"\xdb\xff\xff\xff\xff", 5},
                {"\xdc\xff\xff\x00", 4},
                {"\xde\x00\x02\x01\x02\x03", 6},
                {"\xdf\x80\x00\x00\x00\x00", 6}};

    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
        cr_assert_eq(ctl_msg_scan(lies[i].bytes, lies[i].n, 256, why, sizeof(why)), -EINVAL,
                     "lie %zu", i);
}

Test(ctl_msg, every_kind_passes_when_it_is_whole) {
    cr_assert_eq(SCAN("\x00"), 0);
    cr_assert_eq(SCAN("\xff"), 0);
    cr_assert_eq(SCAN("\xc0"), 0);
    cr_assert_eq(SCAN("\xa3"
                      "abc"),
                 0);
    cr_assert_eq(SCAN("\xc4\x02\x00\x01"), 0);
    cr_assert_eq(SCAN("\xc7\x01\x05\x00"), 0);
    cr_assert_eq(SCAN("\xca\x00\x00\x00\x00"), 0);
    cr_assert_eq(SCAN("\xcf\x00\x00\x00\x00\x00\x00\x00\x00"), 0);
    cr_assert_eq(SCAN("\xd4\x01\x00"), 0);
    cr_assert_eq(SCAN("\xdc\x00\x02\x01\x02"), 0);
    cr_assert_eq(SCAN("\xde\x00\x01\x01\x02"), 0);
    cr_assert_eq(SCAN("\x82\x01\x90\x02\x80"), 0);
}

Test(ctl_msg, an_empty_message_is_refused) {
    EXPECT_SCAN_REFUSED("", "not msgpack, or cut off, at byte 0 of 0");
}

Test(ctl_msg, the_byte_that_msgpack_never_uses_is_refused) {
    EXPECT_SCAN_REFUSED("\xc1", "not msgpack, or cut off, at byte 1 of 1");
}

Test(ctl_msg, what_follows_the_message_is_refused) {
    EXPECT_SCAN_REFUSED("\x80\x01\x02", "2 bytes follow the message");
}

Test(ctl_msg, depth_is_bounded_and_its_bound_is_usable) {
    cr_assert_eq(SCAN("\x91\x91\x91\x91\x91\x91\x91\x01"), 0);
    EXPECT_SCAN_REFUSED("\x91\x91\x91\x91\x91\x91\x91\x91\x01", "values nested deeper than 8");
}

Test(ctl_msg, values_are_counted) {
    unsigned char many[300] = {0xdc, 0x01, 0x00};

    cr_assert_eq(ctl_msg_scan(many, 3 + 256, 257, why, sizeof(why)), 0);
    cr_assert_eq(ctl_msg_scan(many, 3 + 256, 256, why, sizeof(why)), -EINVAL);
    cr_assert_str_eq(why, "more than 256 values in one message");
}

/* ---- requests -------------------------------------------------------------------------------- */

static struct ctl_request request;
static enum ctl_error error;

#define DECODE(bytes) \
    ctl_msg_request_decode(bytes, sizeof(bytes) - 1, &request, &error, why, sizeof(why))

#define EXPECT_REQUEST_REFUSED(bytes, code, text) \
    do {                                          \
        cr_assert_eq(DECODE(bytes), -EINVAL);     \
        cr_assert_eq(error, code);                \
        cr_assert_str_eq(why, text, "%s", why);   \
    } while (0)

Test(ctl_msg, a_request_has_these_bytes) {
    static const char golden[] = "\x83\xa1v\x01\xa4verb\xa8job.show\xa2id\x07";
    struct ctl_request r = {.verb = CTL_V_job_show};
    unsigned char buf[64];
    size_t n;

    ctl_msg_put(&r, CTL_A_id, 7);
    cr_assert_eq(ctl_msg_request_encode(&r, buf, sizeof(buf), &n), 0);
    /* msgpack writes a 64-bit number in its shortest form */
    cr_assert_eq(n, sizeof(golden) - 1);
    cr_assert_arr_eq(buf, golden, n);
    cr_assert_eq(ctl_msg_request_encode(&r, buf, 5, &n), -EMSGSIZE);
}

Test(ctl_msg, a_deprecated_verb_is_understood_and_never_sent) {
    struct ctl_request r = {.verb = CTL_V_user_list};
    unsigned char buf[64];
    size_t n;

    cr_assert_eq(DECODE("\x82\xa1v\x01\xa4verb\xabtenant.list"), 0, "%s", why);
    cr_assert_eq(request.verb, CTL_V_user_list);
    cr_assert_eq(DECODE("\x82\xa1v\x01\xa4verb\xactenant.limit"), 0, "%s", why);
    cr_assert_eq(request.verb, CTL_V_user_limit);
    cr_assert_eq(ctl_msg_request_encode(&r, buf, sizeof(buf), &n), 0);
    cr_assert_not_null(memmem(buf, n, "user.list", 9));
}

/* Builds a request with every argument of the verb, all with different values. */
static struct ctl_request full_request(enum ctl_verb verb) {
    struct ctl_request r = {.verb = verb};

    for (int a = 0; a < CTL_A_COUNT; a++) {
        if (!ctl_verb_takes(verb, a)) continue;
        if (ctl_arg_info(a)->kind == CTL_KIND_TEXT)
            ctl_msg_put_text(&r, a, ctl_arg_info(a)->name);
        else
            ctl_msg_put(&r, a, ctl_arg_info(a)->kind == CTL_KIND_INT ? -a - 1 : (1ll << 40) + a);
    }
    return r;
}

Test(ctl_msg, every_verb_comes_back_with_all_its_arguments) {
    for (int v = 0; v < CTL_V_COUNT; v++) {
        struct ctl_request r = full_request(v);
        unsigned char buf[4096];
        size_t n;

        cr_assert_eq(ctl_msg_request_encode(&r, buf, sizeof(buf), &n), 0);
        cr_assert_eq(ctl_msg_request_decode(buf, n, &request, &error, why, sizeof(why)), 0, "%s",
                     why);
        cr_assert_arr_eq(&request, &r, sizeof(r));
        for (size_t cut = 0; cut < n; cut++)
            cr_assert_eq(ctl_msg_request_decode(buf, cut, &request, &error, why, sizeof(why)),
                         -EINVAL, "verb %d cut at %zu", v, cut);
    }
}

Test(ctl_msg, the_table_of_verbs_names_arguments_that_are_there) {
    for (int v = 0; v < CTL_V_COUNT; v++) {
        const char *args = ctl_verb_info(v)->args;
        int words = *args != '\0', taken = 0;

        for (const char *p = args; *p; p++)
            words += *p == ' ';
        if (strstr(args, "parameters")) words += PARAMETERS - 1;
        for (int a = 0; a < CTL_A_COUNT; a++)
            taken += ctl_verb_takes(v, a);
        cr_assert_eq(words, taken, "%s", ctl_verb_info(v)->text);
    }
    cr_assert_not(ctl_verb_takes(CTL_V_status, CTL_A_id));
    cr_assert(ctl_verb_takes(CTL_V_policy_set, CTL_A_dry_run));
}

Test(ctl_msg, requests_that_are_wrong_are_told_how) {
    EXPECT_REQUEST_REFUSED("\x91\x01", CTL_E_BAD_REQUEST, "the message is not a map");
    EXPECT_REQUEST_REFUSED("\x80", CTL_E_BAD_REQUEST,
                           "the request has no field 'v', the protocol's version");
    EXPECT_REQUEST_REFUSED("\x81\xa1v\xa1"
                           "1",
                           CTL_E_BAD_REQUEST,
                           "the request has no field 'v', the protocol's version");
    EXPECT_REQUEST_REFUSED("\x81\xa1v\x02", CTL_E_PROTOCOL,
                           "control protocol 2 is not spoken here, only 1");
    EXPECT_REQUEST_REFUSED("\x81\xa1v\x01", CTL_E_BAD_REQUEST, "the request has no field 'verb'");
    EXPECT_REQUEST_REFUSED("\x82\xa1v\x01\xa4verb\x05", CTL_E_BAD_REQUEST,
                           "the request has no field 'verb'");
    EXPECT_REQUEST_REFUSED("\x82\xa1v\x01\xa4verb\xa8job.burn", CTL_E_BAD_REQUEST,
                           "unknown verb 'job.burn'");
    EXPECT_REQUEST_REFUSED("\x82\xa1v\x01\xa4verb\xa4\x1b[2J", CTL_E_BAD_REQUEST,
                           "unknown verb '?[2J'");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xa6status\xa2id\x07", CTL_E_BAD_REQUEST,
                           "verb 'status' has no field 'id'");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xa8job.show\xa3jib\x07", CTL_E_BAD_REQUEST,
                           "verb 'job.show' has no field 'jib'");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xa8job.show\xa2id\xff", CTL_E_BAD_REQUEST,
                           "field 'id' is not a whole number");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xa8job.show\x05\xa1x", CTL_E_BAD_REQUEST,
                           "verb 'job.show' has no field ''");
    EXPECT_REQUEST_REFUSED("\x84\xa1v\x01\xa4verb\xa8job.show\xa2id\x01\xa2id\x02",
                           CTL_E_BAD_REQUEST, "field 'id' is given twice");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xa8job.show\xa6weight\x01", CTL_E_BAD_REQUEST,
                           "verb 'job.show' has no field 'weight'");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xaapolicy.set\xa4lane\x01", CTL_E_BAD_REQUEST,
                           "field 'lane' is not a text of at most 255 bytes");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xaapolicy.set\xa9max_lanes\xff",
                           CTL_E_BAD_REQUEST, "field 'max_lanes' is not a whole number");
    EXPECT_REQUEST_REFUSED("\x83\xa1v\x01\xa4verb\xaapolicy.set\xa4swap"
                           "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
                           CTL_E_BAD_REQUEST, "field 'swap' is not a whole number");
}

/* ---- replies --------------------------------------------------------------------------------- */

struct seen {
    int count;
    struct ctl_job jobs[4];
};

static void see_job(void *arg, const void *record) {
    struct seen *s = arg;

    if (s->count < 4) s->jobs[s->count] = *(const struct ctl_job *)record;
    s->count++;
}

Test(ctl_msg, records_come_back_field_by_field) {
    struct ctl_out *out = ctl_msg_create();
    struct ctl_job job = {.id = 3,
                          .memory_bytes = 1ull << 45,
                          .busy_ns = UINT64_MAX,
                          .fault = 700,
                          .priority = -5,
                          .lane = 1 + UINT32_MAX};
    struct ctl_reply reply;
    struct seen seen = {0};
    const void *bytes;
    size_t n;

    strcpy(job.name, "train");
    strcpy(job.state, "faulted");
    memset(job.fault_text, 'x', CTL_TEXT_BYTES - 1);
    cr_assert(ctl_msg_add(out, CTL_RECORD_JOB, &job));
    cr_assert(ctl_msg_add(out, CTL_RECORD_JOB, &(struct ctl_job){.id = 4}));
    cr_assert_eq(ctl_msg_reply(out, 99, &bytes, &n), 0);
    cr_assert_eq(
        ctl_msg_reply_decode(bytes, n, CTL_RECORD_JOB, &reply, see_job, &seen, why, sizeof(why)),
        0);
    cr_assert(reply.ok);
    cr_assert_eq(reply.next, 99);
    cr_assert_eq(seen.count, 2);
    cr_assert_arr_eq(&seen.jobs[0], &job, sizeof(job));
    cr_assert_eq(seen.jobs[1].id, 4);
    cr_assert_eq(seen.jobs[1].lane, 0, "no lane is none, not lane 0");
    for (size_t cut = 0; cut < n; cut++)
        cr_assert_eq(ctl_msg_reply_decode(bytes, cut, CTL_RECORD_JOB, &reply, see_job, &seen, why,
                                          sizeof(why)),
                     -EINVAL);
    ctl_msg_destroy(out);
}

Test(ctl_msg, a_message_never_grows_beyond_its_bound) {
    struct ctl_out *out = ctl_msg_create();
    struct ctl_job job = {.id = 1};
    struct ctl_reply reply;
    struct seen seen = {0};
    const void *bytes;
    int added = 0;
    size_t n;

    memset(job.name, 'n', 63);
    memset(job.fault_text, 'x', CTL_TEXT_BYTES - 1);
    while (ctl_msg_add(out, CTL_RECORD_JOB, &job))
        added++;
    cr_assert_gt(added, 40);
    cr_assert_eq(ctl_msg_reply(out, 1, &bytes, &n), 0);
    cr_assert_leq(n, CTL_MESSAGE_MAX);
    cr_assert_eq(
        ctl_msg_reply_decode(bytes, n, CTL_RECORD_JOB, &reply, see_job, &seen, why, sizeof(why)),
        0);
    cr_assert_eq(seen.count, added);
    ctl_msg_destroy(out);
}

Test(ctl_msg, a_refusal_comes_back) {
    struct ctl_out *out = ctl_msg_create();
    struct ctl_reply reply;
    const void *bytes;
    size_t n;

    cr_assert_eq(ctl_msg_refusal(out, CTL_E_NOT_FOUND, "job 9: no such job", "look", &bytes, &n),
                 0);
    cr_assert_eq(
        ctl_msg_reply_decode(bytes, n, CTL_RECORD_JOB, &reply, see_job, NULL, why, sizeof(why)), 0);
    cr_assert_not(reply.ok);
    cr_assert_str_eq(reply.code, "not_found");
    cr_assert_str_eq(reply.text, "job 9: no such job");
    cr_assert_str_eq(reply.hint, "look");
    ctl_msg_destroy(out);
}

#define EXPECT_REPLY_REFUSED(bytes, text)                                                        \
    do {                                                                                         \
        struct ctl_reply r;                                                                      \
        struct seen s = {0};                                                                     \
        cr_assert_eq(ctl_msg_reply_decode(bytes, sizeof(bytes) - 1, CTL_RECORD_JOB, &r, see_job, \
                                          &s, why, sizeof(why)),                                 \
                     -EINVAL);                                                                   \
        cr_assert_str_eq(why, text, "%s", why);                                                  \
    } while (0)

Test(ctl_msg, replies_that_are_wrong_are_refused) {
    EXPECT_REPLY_REFUSED("\xdd\xff\xff\xff\xff",
                         "a value claims to be longer than the message (at byte 5)");
    EXPECT_REPLY_REFUSED("\x80", "the reply has no field 'ok'");
    EXPECT_REPLY_REFUSED("\x81\xa2ok\x01", "the reply has no field 'ok'");
    EXPECT_REPLY_REFUSED("\x81\xa2ok\xc3", "the reply has no list 'items'");
    EXPECT_REPLY_REFUSED("\x82\xa2ok\xc3\xa5items\x91\x05", "item 0 of the reply is not a record");
}

Test(ctl_msg, unknown_fields_of_a_reply_are_ignored_and_missing_ones_are_empty) {
    static const char newer[] = "\x82\xa2ok\xc3\xa5items\x91\x82\xa2id\x05\xa6tariff\xa4gold";
    struct ctl_reply reply;
    struct seen seen = {0};

    cr_assert_eq(ctl_msg_reply_decode(newer, sizeof(newer) - 1, CTL_RECORD_JOB, &reply, see_job,
                                      &seen, why, sizeof(why)),
                 0);
    cr_assert_eq(seen.jobs[0].id, 5);
    cr_assert_str_eq(seen.jobs[0].name, "");
}

Test(ctl_msg, a_terminal_sees_no_control_characters) {
    static const char evil[] = "\x82\xa2ok\xc3\xa5items\x91\x81\xa4name\xa5\x1b[0m\x07";
    struct ctl_reply reply;
    struct seen seen = {0};

    cr_assert_eq(ctl_msg_reply_decode(evil, sizeof(evil) - 1, CTL_RECORD_JOB, &reply, see_job,
                                      &seen, why, sizeof(why)),
                 0);
    cr_assert_str_eq(seen.jobs[0].name, "?[0m?");
}
