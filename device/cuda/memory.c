/* The device's memory: a pool of CUDA's, which keeps what is freed. Allocated is what was asked
 * for, reserved what the pool took from the driver, as PyTorch's caching allocator counts them. */
#include "device/cuda/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* How old the driver's figure may be, in seconds: asking for it takes a while. */
#define SYSTEM_AGE 0.1

/* Open addressing; a block that was freed leaves its address, so that others behind it are
 * still found and freeing it twice is noticed. */
struct ypi_blocks {
    struct block {
        void *address;
        size_t bytes; /* 0: freed */
    } * slots;
    size_t capacity, used; /* slots that ever had an address since the last growth */
};

/* -- the table of blocks ------------------------------------------------------------------- */

static size_t slot_of(const struct ypi_blocks *b, const void *address)
{
    uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(mixed >> 32) & (b->capacity - 1);
    while (b->slots[at].address != NULL && b->slots[at].address != address)
        at = (at + 1) & (b->capacity - 1);
    return at;
}

static bool grow(struct ypi_blocks *b)
{
    enum { FIRST = 256 };
    struct ypi_blocks more = {.capacity = FIRST};
    for (size_t i = 0; i < b->capacity; i++)
        more.used += b->slots[i].bytes > 0;
    while (more.capacity < 4 * (more.used + 1))
        more.capacity *= 2;
    more.slots = calloc(more.capacity, sizeof *more.slots);
    if (more.slots == NULL)
        return false;
    for (size_t i = 0; i < b->capacity; i++)
        if (b->slots[i].bytes > 0)
            more.slots[slot_of(&more, b->slots[i].address)] = b->slots[i];
    free(b->slots);
    *b = more;
    return true;
}

static bool remember(struct ypi_blocks *b, void *address, size_t bytes)
{
    if (2 * (b->used + 1) > b->capacity && !grow(b))
        return false;
    struct block *slot = &b->slots[slot_of(b, address)];
    b->used += slot->address == NULL;
    *slot = (struct block){address, bytes};
    return true;
}

/* A new block, which the caller gives back when there is no memory to remember it. */
static bool keep(struct ypi_cuda_device *d, struct ypi_blocks *b, void *block, size_t bytes)
{
    pthread_mutex_lock(&d->lock);
    bool kept = remember(b, block, bytes);
    if (kept && b == d->blocks && d->pool == NULL) {
        d->reserved += bytes;
        d->reserved_peak = d->reserved > d->reserved_peak ? d->reserved : d->reserved_peak;
    }
    pthread_mutex_unlock(&d->lock);
    if (!kept)
        ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: the device's table");
    return kept;
}

/* 0: not one of ours, or not any more. */
static size_t forget(struct ypi_blocks *b, void *address)
{
    struct block *slot = b->capacity > 0 ? &b->slots[slot_of(b, address)] : NULL;
    size_t bytes = slot != NULL ? slot->bytes : 0;
    if (bytes > 0)
        slot->bytes = 0;
    return bytes;
}

/* -- allocating and freeing ---------------------------------------------------------------- */

static uint64_t attribute(const struct ypi_cuda_device *d, enum cudaMemPoolAttr which)
{
    uint64_t value = 0;
    if (cudaMemPoolGetAttribute(d->pool, which, &value) != cudaSuccess)
        (void)cudaGetLastError();
    return value;
}

/* What the pool takes for one byte: documented nowhere, and more than the device's page. */
static void find_granule(struct ypi_cuda_device *d)
{
    void *byte = NULL;
    cudaError_t error = cudaMallocFromPoolAsync(&byte, 1, d->pool, d->memory);
    if (error == cudaSuccess)
        d->granule = attribute(d, cudaMemPoolAttrReservedMemCurrent);
    if (error == cudaSuccess)
        error = cudaFreeAsync(byte, d->memory);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(d->memory);
    if (error == cudaSuccess)
        error = cudaMemPoolTrimTo(d->pool, 0);
    if (error != cudaSuccess)
        (void)cudaGetLastError();
    ypi_cuda_reset_peak(&d->base);
}

enum yp_status ypi_cuda_memory_open(struct ypi_cuda_device *d)
{
    int pools = 0;
    d->blocks = calloc(1, sizeof *d->blocks);
    d->pinned = calloc(1, sizeof *d->pinned);
    if (d->blocks == NULL || d->pinned == NULL)
        return ypi_cuda_host->set_error(YP_OUT_OF_MEMORY, "out of memory: the device's table");
    pthread_mutex_init(&d->lock, NULL);
    size_t available = 0, total = 0;
    if (cudaMemGetInfo(&available, &total) == cudaSuccess)
        d->capacity = total;
    else
        (void)cudaGetLastError();
    d->separates = getenv("YIELDPOINT_SEPARATE_ARRAYS") != NULL;
    if (d->separates ||
        cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0) != cudaSuccess)
        pools = 0;
    if (pools == 0)
        return YP_OK;
    struct cudaMemPoolProps properties = {.allocType = cudaMemAllocationTypePinned,
                                          .location = {.type = cudaMemLocationTypeDevice}};
    enum yp_status status =
        ypi_cuda_status(cudaMemPoolCreate(&d->pool, &properties), "a pool of memory");
    uint64_t keep_all = UINT64_MAX;
    if (status == YP_OK)
        status = ypi_cuda_status(
            cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrReleaseThreshold, &keep_all),
            "what the pool keeps");
    if (status == YP_OK)
        find_granule(d);
    return status;
}

/* Waits for the work that uses what was freed before, and for nothing else. */
static cudaError_t allocate_from_pool(struct ypi_cuda_device *d, void **out, size_t bytes)
{
    cudaError_t error = cudaMallocFromPoolAsync(out, bytes, d->pool, d->memory);
    return error == cudaSuccess ? cudaStreamSynchronize(d->memory) : error;
}

static cudaError_t try_to_allocate(struct ypi_cuda_device *d, void **out, size_t bytes)
{
    *out = NULL;
    cudaError_t error =
        d->pool != NULL ? allocate_from_pool(d, out, bytes) : cudaMalloc(out, bytes);
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* clears the error: a refusal is reported once */
    return error;
}

/* What the pool keeps may be in pieces too small: all of them go back to the driver first. */
static cudaError_t allocate_or_trim(struct ypi_cuda_device *d, void **out, size_t bytes)
{
    cudaError_t error = try_to_allocate(d, out, bytes);
    if (error != cudaErrorMemoryAllocation || d->pool == NULL)
        return error;
    (void)cudaDeviceSynchronize();
    (void)cudaMemPoolTrimTo(d->pool, 0);
    (void)cudaGetLastError();
    return try_to_allocate(d, out, bytes);
}

static void release(struct ypi_cuda_device *d, void *block)
{
    (void)(d->pool != NULL ? cudaFreeAsync(block, d->memory) : cudaFree(block));
}

/* Once all work that uses it is done, which the host does not wait for. What goes wrong (the device
 * is lost) is not the next launch's fault: that would find it. */
static void release_after_work(struct ypi_cuda_device *d, void *block)
{
    d->freed = d->freed || ypi_cuda_captures(d);
    if (d->pool == NULL || ypi_cuda_memory_after_work(d) != cudaSuccess)
        (void)cudaDeviceSynchronize();
    release(d, block);
    (void)cudaGetLastError();
}

static void refuse(size_t bytes, cudaError_t error)
{
    size_t available = 0;
    size_t total = 0;
    if (error != cudaErrorMemoryAllocation) {
        (void)ypi_cuda_status(error, "an allocation");
        return;
    }
    if (cudaMemGetInfo(&available, &total) != cudaSuccess)
        (void)cudaGetLastError();
    ypi_cuda_host->set_error(YP_OUT_OF_MEMORY,
                             "out of memory: the driver refused %zu bytes; %zu of the device's %zu "
                             "are free",
                             bytes, available, total);
}

void *ypi_cuda_allocate(struct yp_device *device, size_t bytes)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    void *block = NULL;
    if (ypi_cuda_captures(d)) {
        ypi_cuda_host->set_error(YP_INVALID,
                                 "an allocation of %zu bytes while work becomes a "
                                 "graph: memory is taken before",
                                 bytes);
        return NULL;
    }
    cudaError_t error = allocate_or_trim(d, &block, bytes);
    if (error != cudaSuccess) {
        refuse(bytes, error);
        return NULL;
    }
    if (keep(d, d->blocks, block, bytes))
        return block;
    release(d, block);
    return NULL;
}

/* -- parts that are allocations of their own -------------------------------------------------- */

struct ypi_part {
    struct ypi_part *next;
    void *block, *own;
    size_t offset, bytes;
};

static void *separated(struct ypi_cuda_device *d, void *block, size_t offset, size_t bytes)
{
    for (struct ypi_part *p = d->parts; p != NULL; p = p->next)
        if (p->block == block && p->offset == offset && p->bytes == bytes)
            return p->own;
    struct ypi_part *p = calloc(1, sizeof *p);
    if (p == NULL || cudaMalloc(&p->own, bytes) != cudaSuccess) {
        (void)cudaGetLastError();
        free(p);
        return NULL;
    }
    *p = (struct ypi_part){d->parts, block, p->own, offset, bytes};
    d->parts = p;
    return p->own;
}

void *ypi_cuda_separate(struct yp_device *device, void *block, size_t offset, size_t bytes)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    if (!d->separates)
        return NULL;
    pthread_mutex_lock(&d->lock);
    const struct block *of =
        d->blocks->capacity > 0 ? &d->blocks->slots[slot_of(d->blocks, block)] : NULL;
    void *own = of != NULL && of->bytes > 0 ? separated(d, block, offset, bytes) : NULL;
    pthread_mutex_unlock(&d->lock);
    return own;
}

static void release_parts(struct ypi_cuda_device *d, const void *block)
{
    for (struct ypi_part **at = &d->parts; *at != NULL;) {
        struct ypi_part *p = *at;
        if (p->block != block) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        (void)cudaFree(p->own); /* what uses it was waited for with the block */
        free(p);
    }
}

/* -- freeing --------------------------------------------------------------------------------- */

/* Ends the process: going on would hide the defect. */
static void stop(const char *function, const void *block)
{
    fprintf(stderr, "%s: %p was freed before, or was not allocated by this device\n", function,
            block);
    abort();
}

size_t ypi_cuda_deallocate(struct yp_device *device, void *block)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    pthread_mutex_lock(&d->lock);
    size_t bytes = forget(d->blocks, block);
    if (d->pool == NULL)
        d->reserved -= bytes;
    if (bytes > 0) {
        release_after_work(d, block);
        release_parts(d, block);
    }
    pthread_mutex_unlock(&d->lock);
    if (bytes == 0)
        stop("yp_device_free", block);
    return bytes;
}

void *ypi_cuda_allocate_pinned(struct yp_device *device, size_t bytes)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    void *block = NULL;
    if (ypi_cuda_status(cudaHostAlloc(&block, bytes, cudaHostAllocDefault),
                        "page-locked memory of the host") != YP_OK)
        return NULL;
    if (keep(d, d->pinned, block, bytes))
        return block;
    (void)cudaFreeHost(block);
    return NULL;
}

size_t ypi_cuda_deallocate_pinned(struct yp_device *device, void *block)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    pthread_mutex_lock(&d->lock);
    size_t bytes = forget(d->pinned, block);
    pthread_mutex_unlock(&d->lock);
    if (bytes == 0)
        stop("yp_device_free_pinned", block);
    (void)cudaFreeHost(block);
    return bytes;
}

/* -- figures ------------------------------------------------------------------------------- */

void ypi_cuda_memory(const struct yp_device *device, struct yp_memory *out)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    if (d->pool != NULL) {
        out->reserved = attribute(d, cudaMemPoolAttrReservedMemCurrent);
        out->reserved_peak = attribute(d, cudaMemPoolAttrReservedMemHigh);
    }
    out->granule = d->granule;
    out->capacity = d->capacity;
    pthread_mutex_lock(&d->lock);
    if (d->pool == NULL) {
        out->reserved = d->reserved;
        out->reserved_peak = d->reserved_peak;
    }
    double now = ypi_cuda_now();
    if (d->nvml != NULL && (d->system_at <= 0 || now - d->system_at > SYSTEM_AGE)) {
        d->system = ypi_nvml_own_bytes(d->nvml);
        d->system_at = now;
    }
    out->system = d->system;
    pthread_mutex_unlock(&d->lock);
}

void ypi_cuda_reset_peak(struct yp_device *device)
{
    struct ypi_cuda_device *d = ypi_cuda(device);
    uint64_t none = 0; /* the one value that CUDA takes: back to what is in use */
    if (d->pool != NULL) {
        (void)cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrReservedMemHigh, &none);
        (void)cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrUsedMemHigh, &none);
    }
    pthread_mutex_lock(&d->lock);
    d->reserved_peak = d->reserved;
    pthread_mutex_unlock(&d->lock);
}
