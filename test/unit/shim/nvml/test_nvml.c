/* SPDX-License-Identifier: Apache-2.0
 *
 * NVML's functions with a real broker, whose worker is the test's, and without a broker.
 */
#include "shim/nvml/nvml.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fdutil.h"
#include "test/lib/broker/broker_rig.h"
#include "test/lib/patience.h"

static struct broker_rig rig;
static nvml_handle device;

static void begin(void) {
    unsetenv("SALUS_CAPABILITY");
    unsetenv("CUDA_VISIBLE_DEVICES");
    broker_rig_init(&rig);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    broker_rig_start(&rig);
    cr_assert_eq(nvmlInit_v2(), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
}

static void end(void) {
    broker_rig_stop(&rig);
}

TestSuite(nvml, .init = begin, .fini = end, .timeout = 60);
TestSuite(nvml_alone, .timeout = 60);

/* Adds a job of this process that has `memory_bytes` of the device's GiB. Returns the connection,
 * whose end ends the job. */
static int add_job(uint64_t memory_bytes) {
    int fd = broker_rig_connect(&rig, "job.sock"), fds[WIRE_FD_COUNT];

    broker_rig_attach(fd, fds);
    for (int i = 0; i < WIRE_FD_COUNT; i++)
        close(fds[i]);
    atomic_store(&rig.worker.page->stats.memory_bytes, memory_bytes);
    atomic_store(&rig.worker.page->obtainable.persistent, 1);
    atomic_store(&rig.worker.page->obtainable.free_bytes, (1 << 30) - memory_bytes);
    return fd;
}

/* ---- without a daemon ------------------------------------------------------------------------ */

Test(nvml_alone, without_a_daemon_there_is_no_driver) {
    nvml_handle h;
    unsigned int n;
    int version;

    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    errno = 77;
    cr_assert_eq(nvmlInit_v2(), NVML_ERROR_DRIVER_NOT_LOADED);
    cr_assert_eq(errno, 77);
    cr_assert_eq(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
    cr_assert_eq(nvmlDeviceGetCount_v2(NULL), NVML_ERROR_UNINITIALIZED);
    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(0, &h), NVML_ERROR_UNINITIALIZED);
    cr_assert_eq(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
    cr_assert_eq(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
    cr_assert_eq(version, 13050);
    cr_assert_str_eq(nvmlErrorString(NVML_ERROR_UNINITIALIZED), "Uninitialized");
    cr_assert_str_eq(nvmlErrorString(12345), "Unknown Error");
}

/* ---- initialisation -------------------------------------------------------------------------- */

Test(nvml, it_is_initialised_as_often_as_it_was_and_not_shut_down) {
    unsigned int n;

    cr_assert_eq(nvmlInitWithFlags(8), NVML_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(nvmlInitWithFlags(1), NVML_SUCCESS);
    cr_assert_eq(nvmlShutdown(), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetCount_v2(&n), NVML_SUCCESS);
    cr_assert_eq(n, 1);
    cr_assert_eq(nvmlShutdown(), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
    cr_assert_eq(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

Test(nvml, it_keeps_no_descriptor_and_makes_no_job) {
    struct nvml_memory m;
    int before = broker_rig_count_fds();

    for (int i = 0; i < 50; i++)
        cr_assert_eq(nvmlDeviceGetMemoryInfo(device, &m), NVML_SUCCESS);
    cr_assert(PATIENCE_UNTIL(broker_rig_count_fds() <= before));
    cr_assert_eq(atomic_load(&rig.worker.attached), 0);
}

Test(nvml, a_forked_child_asks_on) {
    struct nvml_memory m;
    int status;
    pid_t child = fork();

    if (child == 0) _exit(nvmlDeviceGetMemoryInfo(device, &m) == NVML_SUCCESS ? 42 : 1);
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 42);
}

Test(nvml, a_daemon_that_went_is_an_error_and_no_more) {
    struct nvml_memory m;
    char name[64];

    setenv("SALUS_RUN_DIR", "/nonexistent", 1);
    cr_assert_eq(nvmlDeviceGetMemoryInfo(device, &m), NVML_ERROR_DRIVER_NOT_LOADED);
    cr_assert_eq(nvmlDeviceGetName(device, name, 64), NVML_ERROR_DRIVER_NOT_LOADED);
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    cr_assert_eq(nvmlDeviceGetMemoryInfo(device, &m), NVML_SUCCESS);
}

Test(nvml, a_worker_that_was_given_up_is_a_lost_gpu) {
    struct nvml_memory m;
    nvml_result r = NVML_SUCCESS;

    broker_rig_stop(&rig);
    broker_rig_init(&rig);
    rig.config.worker_tries = 1;
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    broker_rig_start(&rig);
    add_job(0); /* the broker was ready; otherwise there would be no daemon */
    atomic_store(&rig.worker.launch_result, -ENOENT);
    broker_rig_kill_worker(&rig);
    cr_assert(PATIENCE_UNTIL((r = nvmlDeviceGetMemoryInfo(device, &m)) != NVML_SUCCESS));
    cr_assert_eq(r, NVML_ERROR_GPU_IS_LOST);
}

/* ---- the device's properties ----------------------------------------------------------------- */

Test(nvml, the_device_is_found_by_everything_that_names_it) {
    char uuid[96];
    nvml_handle h;
    unsigned int index = 7;

    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(1, &h), NVML_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("0002:41:05.0", &h), NVML_SUCCESS);
    cr_assert_eq(h, device);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("00000002:41:05.0", &h), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("0000:02:00.0", &h), NVML_ERROR_NOT_FOUND);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("x", &h), NVML_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)), NVML_SUCCESS);
    cr_assert_str_eq(uuid, "GPU-00000000-0000-0000-0000-000000000000");
    h = NULL;
    cr_assert_eq(nvmlDeviceGetHandleByUUID(uuid, &h), NVML_SUCCESS);
    cr_assert_eq(h, device);
    cr_assert_eq(nvmlDeviceGetHandleByUUID(uuid + 4, &h), NVML_SUCCESS, "without its kind");
    uuid[10] = '1';
    cr_assert_eq(nvmlDeviceGetHandleByUUID(uuid, &h), NVML_ERROR_NOT_FOUND);
    cr_assert_eq(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
    cr_assert_eq(index, 0);
    cr_assert_eq(nvmlDeviceGetIndex((nvml_handle)&h, &index), NVML_ERROR_INVALID_ARGUMENT);
}

Test(nvml, texts_are_given_whole_or_not_at_all) {
    char name[9] = "";

    cr_assert_eq(nvmlDeviceGetName(device, name, 9), NVML_SUCCESS);
    cr_assert_str_eq(name, "Fake GPU");
    name[0] = 'x';
    cr_assert_eq(nvmlDeviceGetName(device, name, 8), NVML_ERROR_INSUFFICIENT_SIZE);
    cr_assert_eq(name[0], 'x');
    cr_assert_eq(nvmlDeviceGetName(device, NULL, 8), NVML_ERROR_INVALID_ARGUMENT);
}

Test(nvml, its_capability_is_what_cuda_tells_this_process) {
    static const struct {
        const char *asked;
        int major, minor;
        unsigned int architecture;
    } cases[] = {
        {NULL, 9, 0, NVML_ARCH_HOPPER},       {"8.6", 8, 6, NVML_ARCH_AMPERE},
        {"8.9", 8, 9, NVML_ARCH_ADA},         {"7.5", 7, 5, NVML_ARCH_TURING},
        {"12.1", 12, 1, NVML_ARCH_BLACKWELL}, {"13.0", 13, 0, NVML_ARCH_UNKNOWN},
        {"nonsense", 9, 0, NVML_ARCH_HOPPER},
    };
    int major, minor;
    unsigned int architecture;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (cases[i].asked) setenv("SALUS_CAPABILITY", cases[i].asked, 1);
        cr_assert_eq(nvmlDeviceGetCudaComputeCapability(device, &major, &minor), NVML_SUCCESS);
        cr_assert_eq(major * 10 + minor, cases[i].major * 10 + cases[i].minor);
        cr_assert_eq(nvmlDeviceGetArchitecture(device, &architecture), NVML_SUCCESS);
        cr_assert_eq(architecture, cases[i].architecture, "%s", cases[i].asked);
    }
}

Test(nvml, structs_of_another_version_are_refused) {
    struct nvml_memory_v2 m = {.version = NVML_VERSION(m, 2)};
    struct nvml_pci_ext p = {.version = NVML_VERSION(p, 1)};
    struct nvml_pci pci;
    unsigned int n;

    cr_assert_eq(nvmlDeviceGetMemoryInfo_v2(device, &m), NVML_SUCCESS);
    cr_assert_eq(m.total, 1ull << 30);
    cr_assert_eq(m.free, 1ull << 30);
    m.version = NVML_VERSION(m, 3);
    cr_assert_eq(nvmlDeviceGetMemoryInfo_v2(device, &m), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    m.version = NVML_VERSION(struct nvml_memory, 2);
    cr_assert_eq(nvmlDeviceGetMemoryInfo_v2(device, &m), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    cr_assert_eq(nvmlDeviceGetPciInfoExt(device, &p), NVML_SUCCESS);
    cr_assert_str_eq(p.bus_id, "00000002:41:05.0");
    p.version = 0;
    cr_assert_eq(nvmlDeviceGetPciInfoExt(device, &p), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    cr_assert_eq(nvmlDeviceGetPciInfo_v3(device, &pci), NVML_SUCCESS);
    cr_assert_str_eq(pci.bus_id, "00000002:41:05.0");
    cr_assert_str_eq(pci.old_bus_id, "0002:41:05.0");
    cr_assert_eq(nvmlDeviceGetCurrPcieLinkGeneration(device, &n), NVML_SUCCESS);
    cr_assert_eq(n, 3);
    cr_assert_eq(nvmlDeviceGetMaxPcieLinkWidth(device, &n), NVML_SUCCESS);
    cr_assert_eq(n, 16);
}

Test(nvml, the_device_reaches_itself) {
    unsigned int status = 7;

    cr_assert_eq(nvmlDeviceGetP2PStatus(device, device, 0, &status), NVML_SUCCESS);
    cr_assert_eq(status, 0);
    cr_assert_eq(nvmlDeviceGetP2PStatus(device, NULL, 0, &status), NVML_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(nvmlDeviceGetP2PStatus(NULL, device, 0, &status), NVML_ERROR_INVALID_ARGUMENT);
}

nvml_result nvmlDeviceGetTemperature(nvml_handle h, unsigned int sensor, unsigned int *out);

Test(nvml, what_it_has_not_is_not_supported) {
    unsigned int out;

    cr_assert_eq(nvmlDeviceGetTemperature(device, 0, &out), NVML_ERROR_NOT_SUPPORTED);
    nvmlShutdown();
    cr_assert_eq(nvmlDeviceGetTemperature(device, 0, &out), NVML_ERROR_UNINITIALIZED);
}

/* ---- processes that use the device ----------------------------------------------------------- */

Test(nvml, memory_is_the_jobs_and_comes_back_with_its_end) {
    struct nvml_memory m;
    int job = add_job(300 << 20);

    cr_assert_eq(nvmlDeviceGetMemoryInfo(device, &m), NVML_SUCCESS);
    cr_assert_eq(m.total, 1ull << 30);
    cr_assert_eq(m.used, 300 << 20);
    cr_assert_eq(m.free, (1ull << 30) - (300 << 20));
    close(job);
    cr_assert(PATIENCE_UNTIL(nvmlDeviceGetMemoryInfo(device, &m) == NVML_SUCCESS && m.used == 0));
}

Test(nvml, processes_are_counted_before_they_are_listed) {
    struct nvml_process_v1 old[2];
    struct nvml_process_v2 now[2];
    unsigned int n = 0;

    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL), NVML_SUCCESS);
    add_job(5 << 20);
    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL),
                 NVML_ERROR_INSUFFICIENT_SIZE);
    cr_assert_eq(n, 1);
    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL),
                 NVML_ERROR_INVALID_ARGUMENT);
    n = 0;
    now[0].pid = 77;
    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, now),
                 NVML_ERROR_INSUFFICIENT_SIZE);
    cr_assert_eq(now[0].pid, 77);
    n = 2;
    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, now), NVML_SUCCESS);
    cr_assert_eq(n, 1);
    cr_assert_eq(now[0].pid, (unsigned int)getpid());
    cr_assert_eq(now[0].used_memory, 5 << 20);
    cr_assert_eq(now[0].gpu_instance, NVML_NO_INSTANCE);
    n = 2;
    cr_assert_eq(nvmlDeviceGetComputeRunningProcesses(device, &n, old), NVML_SUCCESS);
    cr_assert_eq(old[0].pid, (unsigned int)getpid());
    n = 2;
    cr_assert_eq(nvmlDeviceGetGraphicsRunningProcesses_v3(device, &n, now), NVML_SUCCESS);
    cr_assert_eq(n, 0);
}

static unsigned int percent(void) {
    struct nvml_utilization u;

    cr_assert_eq(nvmlDeviceGetUtilizationRates(device, &u), NVML_SUCCESS);
    cr_assert_eq(u.memory, 0);
    return u.gpu;
}

/* Makes the device busy for longer than the time since the last query. */
static unsigned int busy_percent(void) {
    atomic_fetch_add(&rig.worker.page->stats.busy_ns, 100000000000);
    return percent();
}

Test(nvml, utilisation_is_that_of_the_latest_looks) {
    struct nvml_process_sample s[2];
    unsigned int n = 2;
    unsigned long long last = 0;

    cr_assert_eq(nvmlDeviceGetProcessUtilization(device, s, &n, 0), NVML_ERROR_NOT_FOUND);
    add_job(0);
    cr_assert(PATIENCE_UNTIL(busy_percent() == 100));
    n = 2;
    cr_assert_eq(nvmlDeviceGetProcessUtilization(device, s, &n, last), NVML_SUCCESS);
    cr_assert_eq(n, 1);
    cr_assert_eq(s[0].pid, (unsigned int)getpid());
    last = s[0].timestamp;
    cr_assert_gt(last, 0);
    n = 2;
    cr_assert_eq(nvmlDeviceGetProcessUtilization(device, s, &n, last + 3600000000ull),
                 NVML_ERROR_NOT_FOUND);
    cr_assert(PATIENCE_UNTIL(percent() == 0));
}

Test(nvml, a_process_is_called_what_it_is_called_by) {
    char name[256];

    cr_assert_eq(nvmlSystemGetProcessName((unsigned int)getpid(), name, sizeof(name)),
                 NVML_SUCCESS);
    cr_assert_str_eq(name, "boxfort-worker"); /* the process name of the test runner */
    cr_assert_eq(nvmlSystemGetProcessName(0x7fffffff, name, sizeof(name)), NVML_ERROR_NOT_FOUND);
    cr_assert_eq(nvmlSystemGetProcessName((unsigned int)getpid(), name, 0),
                 NVML_ERROR_INVALID_ARGUMENT);
}

/* ---- one GPU of two -------------------------------------------------------------------------- */

static void begin_two(void) {
    unsetenv("SALUS_GPU");
    broker_rig_init(&rig);
    rig.config.gpus = 2;
    rig.worker.uuid = 0xaa;
    rig.second.uuid = 0xbb;
    rig.second.pci_bus = 0x40;
    setenv("SALUS_RUN_DIR", rig.dir, 1);
    broker_rig_start(&rig);
    cr_assert_eq(nvmlInit_v2(), NVML_SUCCESS);
}

TestSuite(nvml_two, .init = begin_two, .fini = end, .timeout = 60);

/* Sets CUDA_VISIBLE_DEVICES to `list`. Returns the first digits of the UUIDs of all devices. */
static const char *devices_with(const char *list) {
    static char found[16];
    unsigned int count, index;
    char uuid[96];

    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    cr_assert_eq(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
    for (unsigned int i = 0; i < count; i++) {
        cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(i, &device), NVML_SUCCESS);
        cr_assert_eq(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
        cr_assert_eq(index, i);
        cr_assert_eq(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)), NVML_SUCCESS);
        found[i] = uuid[4];
    }
    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(count, &device), NVML_ERROR_INVALID_ARGUMENT);
    found[count] = '\0';
    return found;
}

Test(nvml_two, devices_are_counted_up_to_the_own_one) {
    cr_assert_str_eq(devices_with("0"), "a");
    cr_assert_str_eq(devices_with("1"), "ab");
    cr_assert_str_eq(devices_with("0,1"), "a");
    cr_assert_str_eq(devices_with("GPU-bb"), "ab");
    cr_assert_str_eq(devices_with("2"), "a", "none is visible");
    cr_assert_str_eq(devices_with(""), "a");
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);
    cr_assert_str_eq(devices_with("0"), "b");
    cr_assert_str_eq(devices_with("1"), "ba");
    setenv("SALUS_GPU", "1", 1);
    cr_assert_str_eq(devices_with("1"), "b", "SALUS_GPU stands above the list");
    cr_assert_str_eq(devices_with(""), "b", "which hides nothing from NVML");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

Test(nvml_two, a_device_is_found_by_its_names_beside_another) {
    unsigned int index;
    nvml_handle first;

    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(0, &first), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("0002:40:05.0", &device), NVML_SUCCESS);
    cr_assert_eq(nvmlDeviceGetIndex(device, &index), NVML_SUCCESS);
    cr_assert_eq(index, 1);
    cr_assert_eq(nvmlDeviceGetHandleByPciBusId_v2("0002:41:05.0", &device), NVML_SUCCESS);
    cr_assert_eq(device, first);
    cr_assert_eq(nvmlDeviceGetHandleByUUID("GPU-bb000000-0000-0000-0000-000000000000", &device),
                 NVML_SUCCESS);
    cr_assert_neq(device, first);
    cr_assert_eq(nvmlDeviceGetHandleByUUID("GPU-cc000000-0000-0000-0000-000000000000", &device),
                 NVML_ERROR_NOT_FOUND);
}

/* The job of the process itself does not replace the GPU that an index names. */
Test(nvml_two, a_process_with_a_job_sees_the_other_gpu_too) {
    struct wire_hello h = broker_rig_hello();
    int fds[WIRE_FD_COUNT];

    h.gpu = 2;
    cr_assert_eq(broker_rig_attach_as(broker_rig_connect(&rig, "job.sock"), &h, fds).device.gpu, 1);
    cr_assert_str_eq(devices_with("1"), "ab");
    unsetenv("CUDA_VISIBLE_DEVICES");
    cr_assert_eq(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
    char uuid[96];
    cr_assert_eq(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)), NVML_SUCCESS);
    cr_assert_eq(uuid[4], 'b', "the one that salusd chose");
}
