/* SPDX-License-Identifier: Apache-2.0
 *
 * A broker's answer to a query, and every way in which it can be invalid.
 */
#include "shim/process/question.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"

static struct wire_view sent, got;

static size_t bytes_of(uint32_t processes) {
    return offsetof(struct wire_view, processes) + processes * sizeof(sent.processes[0]);
}

static void make(void) {
    sent = (struct wire_view){.magic = WIRE_QUESTION_MAGIC,
                              .major = WIRE_MAJOR,
                              .minor = WIRE_MINOR,
                              .device = {.name = "a device", .memory_bytes = 1000},
                              .used_bytes = 1000,
                              .busy_permille = 1000,
                              .process_count = 2,
                              .processes = {{1, 0, 5}, {2, 1000, 6}}};
}

TestSuite(question, .init = make, .timeout = 60);

static int check(size_t bytes) {
    return question_check(&sent, bytes, &got);
}

Test(question, an_answer_is_taken_as_it_is) {
    cr_assert_eq(check(bytes_of(2)), 0);
    cr_assert_eq(memcmp(&sent, &got, bytes_of(2)), 0);
    sent.minor = WIRE_MINOR + 1;
    cr_assert_eq(check(bytes_of(2)), 0, "another minor");
    sent.process_count = WIRE_VIEW_PROCESSES;
    for (uint32_t i = 0; i < WIRE_VIEW_PROCESSES; i++)
        sent.processes[i].pid = 1;
    cr_assert_eq(check(sizeof(sent)), 0);
}

Test(question, its_length_is_what_it_says) {
    for (size_t n = 1; n < bytes_of(3); n++)
        if (n != bytes_of(2)) cr_assert_eq(check(n), ERR_PROTOCOL, "%zu bytes", n);
    sent.process_count = WIRE_VIEW_PROCESSES + 1;
    cr_assert_eq(check(sizeof(sent)), ERR_PROTOCOL);
    sent.process_count = UINT32_MAX;
    cr_assert_eq(check(bytes_of(0) - sizeof(sent.processes[0])), ERR_PROTOCOL);
}

Test(question, no_wrong_fact_is_taken) {
    sent.device.memory_bytes = 999;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL, "more is used than there is");
    make();
    sent.busy_permille = 1001;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL);
    make();
    sent.processes[1].pid = 0;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL);
    make();
    sent.processes[0].busy_permille = 1001;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL);
    make();
    sent.device.pci_bus = 256;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL, "no such bus");
    make();
    sent.device.pci_slot = 32;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL, "no such place");
    make();
    sent.device.memory_bytes = sent.used_bytes = 0;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL, "no device");
    make();
    memset(sent.device.name, 'x', sizeof(sent.device.name));
    cr_assert_eq(check(bytes_of(2)), 0);
    cr_assert_eq(strlen(got.device.name), sizeof(sent.device.name) - 1);
}

Test(question, another_major_or_magic_is_none) {
    sent.major = WIRE_MAJOR + 1;
    cr_assert_eq(check(bytes_of(2)), ERR_VERSION);
    sent.magic = 1;
    cr_assert_eq(check(bytes_of(2)), ERR_PROTOCOL);
}

Test(question, a_refusal_is_a_jobs) {
    struct wire_offer o = {.magic = WIRE_MAGIC, .result = -EBUSY};

    cr_assert_eq(question_check(&o, sizeof(o), &got), -EBUSY);
    cr_assert_eq(question_check(&o, sizeof(o) - 1, &got), ERR_PROTOCOL);
    o.result = 0;
    cr_assert_eq(question_check(&o, sizeof(o), &got), ERR_PROTOCOL, "an offer is no answer");
    o.result = -EBUSY;
    o.magic = 1;
    cr_assert_eq(question_check(&o, sizeof(o), &got), ERR_PROTOCOL);
}
