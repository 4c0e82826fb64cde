/* SPDX-License-Identifier: Apache-2.0
 *
 * Links at run time by one of NVIDIA's libraries, and by a program. The shim reports a newer device
 * to the library than to programs, and the library's compiler emits PTX for that device. The test
 * decides which of them is the caller.
 */
#include <criterion/criterion.h>

#include "proto/wire/record.h"
#include "shim/device/caller.h"
#include "test/lib/shim/rig.h"

#define DEVICE 90

static uint32_t told; /* reported capability; 0: the device's own */

uint32_t caller_capability(const void *caller) {
    (void)caller;
    return told ? told : DEVICE;
}

uint32_t caller_image_capability(const void *caller) {
    (void)caller;
    return told;
}

bool caller_is_library(const char *path) {
    (void)path;
    return told != 0;
}

TestSuite(shim_linking, .init = rig_begin, .timeout = 60);

static char newer[] = ".version 8.8\n.target sm_121\n.address_size 64\n"
                      ".visible .entry first()\n{\nret;\n}\n";

static CUresult add(CUlinkState *link) {
    cr_assert_eq(cuLinkCreate_v2(0, NULL, NULL, link), CUDA_SUCCESS);
    return cuLinkAddData_v2(*link, CU_JIT_INPUT_PTX, newer, sizeof(newer), "input", 0, NULL, NULL);
}

Test(shim_linking, a_library_links_for_what_it_is_told) {
    CUlinkState link;
    void *image;
    uint32_t bytes;
    told = 130;
    cr_assert_eq(add(&link), CUDA_SUCCESS);
    cr_assert_eq(cuLinkComplete(link, &image, NULL), CUDA_SUCCESS);
    const struct wire_module_load *m =
        rig_record(0, &bytes); /* the image is loaded to try it, and unloaded again */
    cr_assert_eq(m->rec.op, WIRE_MODULE_LOAD);
    cr_assert_eq(m->capability, 130, "its PTX is chosen for that device");
    cr_assert_eq(cuLinkDestroy(link), CUDA_SUCCESS);
}

Test(shim_linking, a_program_links_for_the_device) {
    CUlinkState link;
    cr_assert_eq(add(&link), CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_assert_eq(rig_count(), 0);
}
