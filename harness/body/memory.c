/* A case's memory: what yp_alloc() takes for it, and what the runner is sent of it at the end. */
#include "base/heap/heap.h"
#include "device/backend.h"
#include "harness/body/state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct ypi_block {
    struct ypi_block *next;
    struct yp_device *device;
    void *memory;
};

static void *take(struct yp_case *t, struct yp_device *device, size_t bytes)
{
    YPI_HEAP_OWN;
    void *memory = yp_device_alloc(device, bytes);
    struct ypi_block *block = memory != NULL ? malloc(sizeof *block) : NULL;
    if (block == NULL) {
        bool fault = memory == NULL && yp_last_status() == YP_DEVICE_FAULT;
        yp_device_free(device, memory);
        ypi_child_quit(t, fault ? YPI_CAUSE_DEVICE : YPI_CAUSE_OUT_OF_MEMORY, "%s",
                       yp_last_error());
    }
    *block = (struct ypi_block){.next = t->child->blocks, .device = device, .memory = memory};
    t->child->blocks = block;
    return memory;
}

void *yp_alloc(struct yp_case *t, size_t bytes)
{
    return take(t, t->child->device, bytes);
}

void *yp_alloc_host(struct yp_case *t, size_t bytes)
{
    return take(t, yp_device_cpu(), bytes);
}

/* The allocator knows no case. */
static const struct yp_case *of_damage;

static void fail_of_damage(const char *message)
{
    ypi_child_fail(of_damage, YPI_CAUSE_OVERRUN, NULL, 0, "%s", message);
}

void ypi_child_watch_blocks(const struct yp_case *t)
{
    of_damage = t;
    ypi_cpu_report_damage(fail_of_damage);
}

void ypi_child_free_blocks(struct ypi_child *child)
{
    while (child->blocks != NULL) {
        struct ypi_block *block = child->blocks;
        child->blocks = block->next;
        yp_device_free(block->device, block->memory);
        free(block);
    }
}

void ypi_child_set_resident(struct yp_case *t, uint64_t peak)
{
    t->child->resident_of_command = peak;
}

void ypi_child_send_peaks(const struct yp_case *t, double host, double device)
{
    ypi_child_send_value(t, "peak of all ranks", host, "B");
    if (!isnan(device))
        ypi_child_send_value(t, "device peak of all ranks", device, "B");
}

void ypi_child_send_memory(struct yp_case *t)
{
    const struct ypi_resident *r = &t->child->resident;
    struct ypi_memory memory;
    memset(&memory, 0, sizeof memory);
    yp_device_memory(yp_device_cpu(), &memory.host);
    memory.has_device = t->child->device != yp_device_cpu();
    if (memory.has_device)
        yp_device_memory(t->child->device, &memory.device);
    memory.leaked_bytes = memory.host.allocated;
    /* Under --no-fork a case may free what an earlier one has left. */
    memory.leaked_blocks = memory.host.allocations > memory.host.frees
                               ? memory.host.allocations - memory.host.frees
                               : 0;
    memory.resident_before = r->before;
    memory.resident_peak = r->before + r->peak;
    memory.resident_huge = r->huge;
    memory.resident_files = r->files_peak - r->files_before;
    if (t->child->resident_of_command > 0) {
        memory.resident_before = memory.resident_huge = memory.resident_files = 0;
        memory.resident_peak = t->child->resident_of_command;
    }
    if (r->tree != NULL) {
        const uint64_t alone = memory.resident_peak - memory.resident_before;
        memory.has_tree = true;
        memory.resident_tree = t->child->tree_peak > alone ? t->child->tree_peak : alone;
    }
    ypi_child_close_heap(t, &memory);
    ypi_child_send(t, YPI_MESSAGE_MEMORY, &memory, sizeof memory, NULL, 0);
    /* Of several ranks their conductor has the sum. */
    if (t->test->ranks != NULL && ypi_child_job(t)->rank < 0)
        ypi_child_send_peaks(t, (double)memory.host.allocated_peak,
                             memory.has_device ? (double)memory.device.allocated_peak : NAN);
}
