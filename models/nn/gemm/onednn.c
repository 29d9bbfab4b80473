/* oneDNN's matmul primitive (oneAPI Deep Neural Network Library, version 2 or 3, whichever the
 * headers are of). The library is 40 MB: it is loaded by the first product, not with the program,
 * and need not be there.
 *
 * A primitive is code made for one shape. Making it takes milliseconds, so that some are kept; a
 * product of another shape takes the place of the one that was there. */
#include "models/nn/gemm/onednn.h"

#ifdef NN_ONEDNN
#include "base/numbers/splitmix.h"

#include <dlfcn.h>
#include <dnnl.h>
#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* -- the library ------------------------------------------------------------------------------- */

#define FUNCTIONS(FUNCTION) \
    FUNCTION(dnnl_set_max_cpu_isa) \
    FUNCTION(dnnl_get_primitive_cache_capacity) \
    FUNCTION(dnnl_set_primitive_cache_capacity) \
    FUNCTION(dnnl_engine_create) \
    FUNCTION(dnnl_stream_create) \
    FUNCTION(dnnl_memory_desc_get_size) \
    FUNCTION(dnnl_primitive_attr_create) \
    FUNCTION(dnnl_primitive_attr_destroy) \
    FUNCTION(dnnl_primitive_attr_set_scratchpad_mode) \
    FUNCTION(dnnl_primitive_attr_set_post_ops) \
    FUNCTION(dnnl_post_ops_create) \
    FUNCTION(dnnl_post_ops_append_sum) \
    FUNCTION(dnnl_post_ops_destroy) \
    FUNCTION(dnnl_primitive_desc_destroy) \
    FUNCTION(dnnl_primitive_desc_query) \
    FUNCTION(dnnl_primitive_desc_query_md) \
    FUNCTION(dnnl_primitive_create) \
    FUNCTION(dnnl_primitive_destroy) \
    FUNCTION(dnnl_primitive_execute) \
    FUNCTION(dnnl_memory_create) \
    FUNCTION(dnnl_memory_destroy) \
    FUNCTIONS_OF_VERSION(FUNCTION)

#if DNNL_VERSION_MAJOR == 2
#define EVERY_ISA dnnl_cpu_isa_all
#define FUNCTIONS_OF_VERSION(FUNCTION) \
    FUNCTION(dnnl_memory_desc_init_by_strides) \
    FUNCTION(dnnl_matmul_desc_init) \
    FUNCTION(dnnl_primitive_desc_create)
#else
#define EVERY_ISA dnnl_cpu_isa_default
#define FUNCTIONS_OF_VERSION(FUNCTION) \
    FUNCTION(dnnl_memory_desc_create_with_strides) \
    FUNCTION(dnnl_memory_desc_clone) \
    FUNCTION(dnnl_memory_desc_destroy) \
    FUNCTION(dnnl_matmul_primitive_desc_create)
#endif

/* Upstream's name, and that of Debian 13, where every minor version is a library of its own. */
#define TEXT_OF(...) #__VA_ARGS__
#define TEXT(number) TEXT_OF(number)
#define LIBRARY "libdnnl.so." TEXT(DNNL_VERSION_MAJOR)
#define MINOR_LIBRARY LIBRARY "." TEXT(DNNL_VERSION_MINOR)

#define MEMBER(name) __typeof__(&(name)) name;
static struct {
    FUNCTIONS(MEMBER)
} lib;
#undef MEMBER

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static bool there;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* one product at a time: it has all threads */

/* Below AVX-512 its bf16 is slower than widening, and its fp32 no faster than OpenBLAS. */
#ifndef NN_ONEDNN_FROM
#define NN_ONEDNN_FROM YP_ISA_AVX512
#endif

static void load(void)
{
    if (yp_isa() < NN_ONEDNN_FROM)
        return;
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        handle = dlopen(MINOR_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    bool all = handle != NULL;
#define FIND(name) all = all && (*(void **)(void *)&lib.name = dlsym(handle, #name)) != NULL;
    FUNCTIONS(FIND)
#undef FIND
    there = all &&
            lib.dnnl_set_max_cpu_isa(yp_isa() < YP_ISA_AMX ? dnnl_cpu_isa_avx512_core_bf16
                                                           : EVERY_ISA) == dnnl_success &&
            lib.dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
            lib.dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;
}

/* -- what the versions do in different ways ---------------------------------------------------- */

/* describe_matrix   makes a description of (rows, columns) with strides.
 * forget            destroys one, if it was made.
 * desc              a description, as functions take it.
 * keep_scratch      copies the scratch memory's, which the primitive's description owns.
 * describe_product  makes the primitive's description; `bias` may be NULL.
 * append_sum        adds the product to what is there. */
#if DNNL_VERSION_MAJOR == 2
typedef const dnnl_memory_desc_t *desc_t;

static dnnl_status_t describe_matrix(dnnl_memory_desc_t *out, const dnnl_dims_t size,
                                     dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return lib.dnnl_memory_desc_init_by_strides(out, 2, size, type, strides);
}

static void forget(dnnl_memory_desc_t *description)
{
    (void)description;
}

static desc_t desc(const dnnl_memory_desc_t *description)
{
    return description;
}

static dnnl_status_t keep_scratch(dnnl_memory_desc_t *out, desc_t of)
{
    *out = *of;
    return dnnl_success;
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, desc_t a, desc_t b, desc_t bias,
                                      desc_t c, const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t product;
    dnnl_status_t status = lib.dnnl_matmul_desc_init(&product, a, b, bias, c);
    return status == dnnl_success
               ? lib.dnnl_primitive_desc_create(out, &product, attr, engine, NULL)
               : status;
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
    return lib.dnnl_post_ops_append_sum(ops, 1);
}
#else
typedef const_dnnl_memory_desc_t desc_t;

static dnnl_status_t describe_matrix(dnnl_memory_desc_t *out, const dnnl_dims_t size,
                                     dnnl_data_type_t type, const dnnl_dims_t strides)
{
    return lib.dnnl_memory_desc_create_with_strides(out, 2, size, type, strides);
}

static void forget(dnnl_memory_desc_t *description)
{
    if (*description != NULL)
        lib.dnnl_memory_desc_destroy(*description);
}

static desc_t desc(const dnnl_memory_desc_t *description)
{
    return *description;
}

static dnnl_status_t keep_scratch(dnnl_memory_desc_t *out, desc_t of)
{
    return lib.dnnl_memory_desc_clone(out, of);
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, desc_t a, desc_t b, desc_t bias,
                                      desc_t c, const_dnnl_primitive_attr_t attr)
{
    return lib.dnnl_matmul_primitive_desc_create(out, engine, a, b, bias, c, attr);
}

static dnnl_status_t append_sum(dnnl_post_ops_t ops)
{
    return lib.dnnl_post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef);
}
#endif

/* -- primitives -------------------------------------------------------------------------------- */

/* What a primitive is made for. */
struct key {
    size_t m, n, k, strides[3];
    int types[2], transposed[2], add, bias, threads;
};

struct product {
    struct key key;
    bool takes; /* false: remembered as one that is not for oneDNN */
    dnnl_primitive_t primitive;
    dnnl_memory_desc_t a, b, c, bias, scratch;
    size_t bytes; /* of scratch */
};

enum { PRODUCTS = 256 };
static struct product products[PRODUCTS];

static struct key key_of(const struct nn_gemm *g, int threads)
{
    struct key key;
    memset(&key, 0, sizeof key);
    key.m = g->m;
    key.n = g->n;
    key.k = g->k;
    key.strides[0] = g->a.stride;
    key.strides[1] = g->b.stride;
    key.strides[2] = g->c.stride;
    key.types[0] = (int)g->a.type;
    key.types[1] = (int)g->c.type;
    key.transposed[0] = g->a.transposed;
    key.transposed[1] = g->b.transposed;
    key.add = g->add;
    key.bias = g->bias != NULL;
    key.threads = threads;
    return key;
}

static dnnl_data_type_t type_of(enum nn_type type)
{
    return type == NN_SINT8      ? dnnl_s8
           : type == NN_BFLOAT16 ? dnnl_bf16
           : type == NN_FLOAT16  ? dnnl_f16
                                 : dnnl_f32;
}

static bool describe(const struct nn_matrix *matrix, size_t rows, size_t columns,
                     dnnl_memory_desc_t *out)
{
    dnnl_dims_t size = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    dnnl_dims_t strides = {matrix->transposed ? 1 : (dnnl_dim_t)matrix->stride,
                           matrix->transposed ? (dnnl_dim_t)matrix->stride : 1};
    return describe_matrix(out, size, type_of(matrix->type), strides) == dnnl_success;
}

/* Scratch memory is the caller's, and with `add` the product is added to what is there. */
static bool make_attributes(bool add, dnnl_primitive_attr_t *attr)
{
    dnnl_post_ops_t ops = NULL;
    bool made = lib.dnnl_primitive_attr_create(attr) == dnnl_success &&
                lib.dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user) ==
                    dnnl_success;
    if (!made || !add)
        return made;
    made = lib.dnnl_post_ops_create(&ops) == dnnl_success && append_sum(ops) == dnnl_success &&
           lib.dnnl_primitive_attr_set_post_ops(*attr, ops) == dnnl_success;
    lib.dnnl_post_ops_destroy(ops);
    return made;
}

/* Its own code, and not the loops that it has for whatever else there is. */
static bool is_fast(const_dnnl_primitive_desc_t made)
{
    const char *name = NULL;
    return lib.dnnl_primitive_desc_query(made, dnnl_query_impl_info_str, 0, &name) ==
               dnnl_success &&
           name != NULL && strncmp(name, "ref", 3) != 0;
}

static void release(struct product *p)
{
    if (p->primitive != NULL)
        lib.dnnl_primitive_destroy(p->primitive);
    forget(&p->a);
    forget(&p->b);
    forget(&p->c);
    forget(&p->bias);
    forget(&p->scratch);
    memset(p, 0, sizeof *p);
}

static void make(struct product *p, const struct nn_gemm *g, const struct key *key)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t made = NULL;
    release(p);
    p->key = *key;
    const struct nn_matrix bias = {NULL, NN_FLOAT, g->n, false};
    if (!describe(&bias, 1, g->n, &p->bias) || !describe(&g->a, g->m, g->k, &p->a) ||
        !describe(&g->b, g->k, g->n, &p->b) || !describe(&g->c, g->m, g->n, &p->c) ||
        !make_attributes(g->add, &attr))
        return;
    if (describe_product(&made, desc(&p->a), desc(&p->b), g->bias != NULL ? desc(&p->bias) : NULL,
                         desc(&p->c), attr) == dnnl_success) {
        desc_t scratch = lib.dnnl_primitive_desc_query_md(made, dnnl_query_scratchpad_md, 0);
        p->takes = is_fast(made) && keep_scratch(&p->scratch, scratch) == dnnl_success &&
                   lib.dnnl_primitive_create(&p->primitive, made) == dnnl_success;
        p->bytes = lib.dnnl_memory_desc_get_size(scratch);
        lib.dnnl_primitive_desc_destroy(made);
    }
    lib.dnnl_primitive_attr_destroy(attr);
}

static struct product *place_of(const struct key *key)
{
    uint64_t hash = ypi_mix64(key->m) ^ ypi_mix64(key->n + YPI_GOLDEN) ^ key->k;
    for (int i = 0; i < 3; i++)
        hash = ypi_mix64(hash + key->strides[i]);
    for (int i = 0; i < 2; i++)
        hash = ypi_mix64(hash + (uint64_t)(16 * key->types[i] + key->transposed[i]));
    return &products[ypi_mix64(hash + (uint64_t)(4 * key->threads + 2 * key->bias + key->add)) %
                     PRODUCTS];
}

/* With the lock. A primitive is made for the threads that OpenMP has at that time. */
static const struct product *product_of(const struct nn_gemm *g, int threads)
{
    struct key key = key_of(g, threads);
    struct product *p = place_of(&key);
    if (memcmp(&p->key, &key, sizeof key) != 0) {
        int now = omp_get_max_threads();
        omp_set_num_threads(threads); /* of this thread's regions */
        make(p, g, &key);
        omp_set_num_threads(now);
    }
    return p;
}

/* Without VNNI it adds products of int8 in 16 bits, which saturate. */
static bool is_exact(const struct nn_gemm *g)
{
#if defined(__x86_64__)
    return g->a.type != NN_SINT8 || __builtin_cpu_supports("avx512vnni");
#else
    return g->a.type != NN_SINT8;
#endif
}

bool ypi_onednn_takes(const struct nn_gemm *gemm, int threads, size_t *bytes)
{
    pthread_once(&once, load);
    if (!there || omp_in_parallel() || !is_exact(gemm) || gemm->m > INT_MAX || gemm->n > INT_MAX ||
        gemm->k > INT_MAX) /* with larger ones the library divides by 0 */
        return false;
    pthread_mutex_lock(&lock);
    const struct product *p = product_of(gemm, threads);
    bool takes = p->takes;
    *bytes = p->bytes;
    pthread_mutex_unlock(&lock);
    return takes;
}

/* -- a product --------------------------------------------------------------------------------- */

static dnnl_status_t run(const struct product *p, const struct nn_gemm *g, void *work)
{
    const struct {
        int name;
        const dnnl_memory_desc_t *of;
        void *at;
    } all[] = {{DNNL_ARG_SRC, &p->a, g->a.at},
               {DNNL_ARG_WEIGHTS, &p->b, g->b.at},
               {DNNL_ARG_DST, &p->c, g->c.at},
               {DNNL_ARG_BIAS, &p->bias, (void *)(uintptr_t)g->bias},
               {DNNL_ARG_SCRATCHPAD, &p->scratch, p->bytes > 0 ? work : NULL}};
    dnnl_exec_arg_t args[sizeof all / sizeof *all];
    int n = 0;
    dnnl_status_t status = dnnl_success;
    for (size_t i = 0; i < sizeof all / sizeof *all && status == dnnl_success; i++) {
        if (all[i].at == NULL)
            continue;
        args[n].arg = all[i].name;
        status = lib.dnnl_memory_create(&args[n].memory, desc(all[i].of), engine, all[i].at);
        n += status == dnnl_success;
    }
    if (status == dnnl_success)
        status = lib.dnnl_primitive_execute(p->primitive, stream, n, args);
    for (int i = 0; i < n; i++)
        lib.dnnl_memory_destroy(args[i].memory);
    return status;
}

enum yp_status ypi_onednn_gemm(const struct nn_gemm *gemm, void *work)
{
    pthread_mutex_lock(&lock);
    const struct product *p = product_of(gemm, omp_get_max_threads());
    dnnl_status_t status = p->takes ? run(p, gemm, work) : dnnl_unimplemented;
    pthread_mutex_unlock(&lock);
    if (status == dnnl_success)
        return YP_OK;
    return yp_set_error(status == dnnl_out_of_memory ? YP_OUT_OF_MEMORY : YP_UNSUPPORTED,
                        "oneDNN gives up a product of (%zu, %zu) and (%zu, %zu) with status %d",
                        gemm->m, gemm->k, gemm->k, gemm->n, (int)status);
}

/* oneDNN keeps primitives, too: its cache is emptied by having no room. */
void ypi_onednn_forget(void)
{
    int capacity = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < PRODUCTS && there; i++)
        release(&products[i]);
    if (there && lib.dnnl_get_primitive_cache_capacity(&capacity) == dnnl_success) {
        (void)lib.dnnl_set_primitive_cache_capacity(0);
        (void)lib.dnnl_set_primitive_cache_capacity(capacity);
    }
    pthread_mutex_unlock(&lock);
}

#else
void ypi_onednn_forget(void)
{
}

bool ypi_onednn_takes(const struct nn_gemm *gemm, int threads, size_t *bytes)
{
    (void)gemm, (void)threads, (void)bytes;
    return false;
}

enum yp_status ypi_onednn_gemm(const struct nn_gemm *gemm, void *work)
{
    (void)gemm, (void)work;
    return yp_set_error(YP_UNSUPPORTED, "this build knows no oneDNN");
}
#endif
