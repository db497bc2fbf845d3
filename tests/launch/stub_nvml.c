/* An NVML in small: devices 0000:41:00.0 at node 1, 0000:42:00.0 at nodes 0 and 1, one MIG instance of 0000:43:00.0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { int number; } device;
static device first = {1}, second = {2}, third = {3}, instance = {30};

typedef struct {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char bus_id[32];
} pci_info;

int nvmlInit_v2(void) {
    if (getenv("STUB_NVML_HANGS")) sleep(600);
    if (getenv("STUB_NVML_TRACE")) fclose(fopen(getenv("STUB_NVML_TRACE"), "w"));
    return getenv("STUB_NVML_FAILS") ? 9 : 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *address, device **handle) {
    if (!strcmp(address, "0000:41:00.0")) *handle = &first;
    else if (!strcmp(address, "0000:42:00.0")) *handle = &second;
    else return 6;
    return 0;
}

int nvmlDeviceGetMemoryAffinity(device *handle, unsigned words, unsigned long *nodes, unsigned scope) {
    if (words != 16 || scope != 0) return 2;
    memset(nodes, 0, words * sizeof *nodes);
    nodes[0] = handle->number == 1 ? 2 : 3;
    return 0;
}

int nvmlDeviceGetNumaNodeId(device *handle, unsigned *node) {
    (void)handle, (void)node;
    abort(); /* nobody may ask this */
}

int nvmlDeviceGetHandleByUUID(const char *uuid, device **handle) {
    if (strcmp(uuid, "MIG-1234")) return 6;
    *handle = &instance;
    return 0;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(device *mig, device **parent) {
    if (mig != &instance) return 2;
    *parent = &third;
    return 0;
}

int nvmlDeviceGetPciInfo_v3(device *handle, pci_info *info) {
    if (handle != &third) return 2;
    strcpy(info->legacy, "0000:43:00.0");
    strcpy(info->bus_id, "00000000:43:00.0");
    return 0;
}
