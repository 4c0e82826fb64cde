// SPDX-License-Identifier: Apache-2.0
// Prints, as JSON, what the driver tells about a device: everything in proto/cuda/description.h and
// what else jobs ask of a device. A real GPU's answers, recorded once, can be compared with those
// of the software GPU and with those that a job gets under Salus.
//
//   cc -I. -o describe scripts/device-probes/describe.c -ldl && ./describe >h200.json
//
// It needs a driver, no toolkit: libcuda.so.1 is opened at run time.
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/cuda/cuda_abi.h"
#include "proto/cuda/description.h"

static void *driver;
static const char *between = ""; // written before the next member
static CUdevice device;

static void *find(const char *name) {
    return dlsym(driver, name);
}

// Calls `name` with these arguments. Gives its result, or CUDA_ERROR_NOT_FOUND when the driver
// lacks the function.
#define CALL(name, type, ...)                             \
    __extension__({                                       \
        CUresult(*f) type = (CUresult(*) type)find(name); \
        f ? f(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND;        \
    })

// ---- JSON ---------------------------------------------------------------------------------------

static void text(const char *s) {
    putchar('"');
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            printf("\\%c", *s);
        else if ((unsigned char)*s < ' ')
            printf("\\u%04x", *s);
        else
            putchar(*s);
    putchar('"');
}

static void key(const char *name) {
    printf("%s\n  ", between);
    text(name);
    printf(": ");
    between = ",";
}

static void say_number(const char *name, long long n) {
    key(name);
    printf("%lld", n);
}

static void say_text(const char *name, const char *s) {
    key(name);
    text(s);
}

static void begin(const char *name) {
    key(name);
    putchar('{');
    between = "";
}

static void end(void) {
    printf("\n  }");
    between = ",";
}

static void say_bytes(const char *name, const unsigned char *b, size_t n) {
    char hex[64] = "";
    for (size_t i = 0; i < n && i < 31; i++)
        snprintf(hex + 2 * i, 3, "%02x", b[i]);
    say_text(name, hex);
}

// ---- attributes --------------------------------------------------------------------------------

static const char *attribute_name(unsigned n, char *room, size_t bytes) {
    switch (n) {
#define X(name, number) \
    case number: return #name;
        CUDA_DEVICE_ATTRIBUTES(X)
#undef X
    }
    snprintf(room, bytes, "%u", n); // an attribute newer than these headers
    return room;
}

static void attributes(void) {
    char room[16];
    begin("attributes");
    for (unsigned n = 1; n < DESCRIPTION_ATTRIBUTES; n++) {
        int value = 0;
        if (CALL("cuDeviceGetAttribute", (int *, int, CUdevice), &value, (int)n, device) == 0)
            say_number(attribute_name(n, room, sizeof(room)), value);
    }
    end();
}

static void identity(void) {
    char name[256] = "", bus[64] = "";
    unsigned char uuid[16] = {0};
    char luid[8] = {0};
    unsigned nodes = 0;
    size_t bytes = 0;
    int version = 0;
    CALL("cuDeviceGetName", (char *, int, CUdevice), name, sizeof(name), device);
    say_text("name", name);
    if (CALL("cuDeviceGetUuid_v2", (unsigned char *, CUdevice), uuid, device))
        CALL("cuDeviceGetUuid", (unsigned char *, CUdevice), uuid, device);
    say_bytes("uuid", uuid, sizeof(uuid));
    if (CALL("cuDeviceGetLuid", (char *, unsigned *, CUdevice), luid, &nodes, device) == 0) {
        say_bytes("luid", (unsigned char *)luid, sizeof(luid));
        say_number("luid_nodes", nodes);
    }
    CALL("cuDeviceGetPCIBusId", (char *, int, CUdevice), bus, sizeof(bus), device);
    say_text("pci", bus);
    CALL("cuDriverGetVersion", (int *), &version);
    say_number("driver_version", version);
    CALL("cuDeviceTotalMem_v2", (size_t *, CUdevice), &bytes, device);
    say_number("memory_bytes", (long long)bytes);
}

// Describes a row of this many elements of 1, 2, 4, 8 and 16 bytes.
static void widths(void) {
    static const struct {
        int format;
        unsigned channels;
    } elements[DESCRIPTION_ELEMENTS] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1},
                                        {CU_AD_FORMAT_UNSIGNED_INT8, 2},
                                        {CU_AD_FORMAT_UNSIGNED_INT8, 4},
                                        {CU_AD_FORMAT_UNSIGNED_INT16, 4},
                                        {CU_AD_FORMAT_FLOAT, 4}};
    key("texture1d_linear");
    for (unsigned i = 0; i < DESCRIPTION_ELEMENTS; i++) {
        size_t most = 0;
        CALL("cuDeviceGetTexture1DLinearMaxWidth", (size_t *, int, unsigned, CUdevice), &most,
             elements[i].format, elements[i].channels, device);
        printf("%s%zu", i ? ", " : "[", most);
    }
    putchar(']');
}

// ---- answers of a context ----------------------------------------------------------------------

static const char *const limit_names[] = {
#define X(name, number) [number] = #name,
    CUDA_LIMITS(X)
#undef X
};

static void limits(void) {
    begin("limits");
    for (unsigned n = 0; n < DESCRIPTION_LIMITS; n++) {
        char room[16];
        size_t value = 0;
        const char *name = n < sizeof(limit_names) / sizeof(limit_names[0]) ? limit_names[n] : NULL;
        if (CALL("cuCtxGetLimit", (size_t *, int), &value, (int)n)) continue;
        snprintf(room, sizeof(room), "%u", n);
        say_number(name ? name : room, (long long)value);
    }
    end();
}

static void partitions(void) {
    CUdevResource r;
    memset(&r, 0, sizeof(r));
    if (CALL("cuDeviceGetDevResource", (CUdevice, CUdevResource *, int), device, &r,
             CU_DEV_RESOURCE_TYPE_SM))
        return;
    begin("sm_partition");
    say_number("count", r.sm.smCount);
    say_number("least", r.sm.minSmPartitionSize);
    say_number("unit", r.sm.smCoscheduledAlignment);
    end();
}

static void granularities(void) {
    CUmemAllocationProp p;
    memset(&p, 0, sizeof(p));
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    begin("granularity");
    for (int flag = 0; flag < 2; flag++) {
        size_t bytes = 0;
        if (CALL("cuMemGetAllocationGranularity", (size_t *, const CUmemAllocationProp *, int),
                 &bytes, &p, flag) == 0)
            say_number(flag ? "recommended" : "minimum", (long long)bytes);
    }
    end();
}

static void of_context(void) {
    CUcontext context;
    int least = 0, greatest = 0;
    size_t free_bytes = 0, all = 0;
    if (CALL("cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice), &context, device) ||
        CALL("cuCtxSetCurrent", (CUcontext), context)) {
        say_text("context", "none can be made");
        return;
    }
    CALL("cuCtxGetStreamPriorityRange", (int *, int *), &least, &greatest);
    begin("stream_priorities");
    say_number("least", least);
    say_number("greatest", greatest);
    end();
    limits();
    CALL("cuMemGetInfo_v2", (size_t *, size_t *), &free_bytes, &all);
    say_number("memory_shown_bytes", (long long)all);
    CALL("cuDevicePrimaryCtxRelease_v2", (CUdevice), device);
}

// ---- other answers -----------------------------------------------------------------------------

static void properties(void) {
    CUdevprop p;
    memset(&p, 0, sizeof(p));
    if (CALL("cuDeviceGetProperties", (CUdevprop *, CUdevice), &p, device)) return;
    begin("properties");
    say_number("maxThreadsPerBlock", p.maxThreadsPerBlock);
    say_number("maxThreadsDim.x", p.maxThreadsDim[0]);
    say_number("maxThreadsDim.y", p.maxThreadsDim[1]);
    say_number("maxThreadsDim.z", p.maxThreadsDim[2]);
    say_number("maxGridSize.x", p.maxGridSize[0]);
    say_number("maxGridSize.y", p.maxGridSize[1]);
    say_number("maxGridSize.z", p.maxGridSize[2]);
    say_number("sharedMemPerBlock", p.sharedMemPerBlock);
    say_number("totalConstantMemory", p.totalConstantMemory);
    say_number("SIMDWidth", p.SIMDWidth);
    say_number("memPitch", p.memPitch);
    say_number("regsPerBlock", p.regsPerBlock);
    say_number("clockRate", p.clockRate);
    say_number("textureAlign", p.textureAlign);
    end();
}

static void abilities(void) {
    int affinity = 0, major = 0, minor = 0;
    if (CALL("cuDeviceGetExecAffinitySupport", (int *, int, CUdevice), &affinity, 0, device) == 0)
        say_number("exec_affinity_sm_count", affinity);
    if (CALL("cuDeviceComputeCapability", (int *, int *, CUdevice), &major, &minor, device) == 0)
        say_number("capability", 10 * major + minor);
}

int main(int argc, char **argv) {
    int count = 0, ordinal = argc > 1 ? atoi(argv[1]) : 0;
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        return 2;
    }
    CUresult r = CALL("cuInit", (unsigned), 0);
    if (!r) r = CALL("cuDeviceGetCount", (int *), &count);
    if (!r) r = CALL("cuDeviceGet", (CUdevice *, int), &device, ordinal);
    if (r) {
        fprintf(stderr, "no device %d of %d: CUDA's result %d\n", ordinal, count, (int)r);
        return 2;
    }
    putchar('{');
    say_number("description", DESCRIPTION_VERSION);
    identity();
    abilities();
    widths();
    attributes();
    properties();
    of_context();
    partitions();
    granularities();
    printf("\n}\n");
    return 0;
}
