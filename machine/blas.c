/* OpenBLAS as installed on this machine. Loaded when it is to be measured: `yieldpoint` uses it for
 * nothing else. */
#include "machine/machine.h"

#include "base/simd/openblas.h"
#include "base/system/clock.h"
#include "base/text/text.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111 }; /* CBLAS */

typedef void sgemm_function(int, int, int, int, int, int, float, const float *, int, const float *,
                            int, float, float *, int);
typedef void dgemm_function(int, int, int, int, int, int, double, const double *, int,
                            const double *, int, double, double *, int);
typedef void threads_function(int);

struct ypi_blas {
    void *library;
    sgemm_function *sgemm;
    dgemm_function *dgemm;
    int n;
    double *a, *b, *c; /* (n, n), or twice as many floats */
};

static void find(void *library, const char *name, void *function)
{
    void *address = dlsym(library, name);
    memcpy(function, &address, sizeof address); /* ISO C has no cast from data to functions */
}

/* With the kernels that cases have (ypi_confine_isa()), which it chooses when it is loaded. */
static void *load(void)
{
    static const char name[] = "libopenblas.so.0";
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    const char *core = library != NULL ? ypi_openblas_better(library) : NULL;
    if (core == NULL)
        return library;
    dlclose(library);
    setenv("OPENBLAS_CORETYPE", core, 1);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    unsetenv("OPENBLAS_CORETYPE");
    return library;
}

struct ypi_blas *ypi_blas_open(int threads)
{
    enum { FEW = 8, SMALL = 2048, LARGE = 4096 };
    threads_function *set_threads = NULL;
    struct ypi_blas *blas = ypi_calloc(1, sizeof *blas);
    blas->library = load();
    if (blas->library != NULL) {
        find(blas->library, "cblas_sgemm", &blas->sgemm);
        find(blas->library, "cblas_dgemm", &blas->dgemm);
        find(blas->library, "openblas_set_num_threads", &set_threads);
    }
    if (blas->sgemm == NULL || blas->dgemm == NULL || set_threads == NULL) {
        ypi_blas_close(blas);
        return NULL;
    }
    set_threads(threads);
    blas->n = threads > FEW ? LARGE : SMALL;
    size_t count = (size_t)blas->n * (size_t)blas->n;
    blas->a = ypi_calloc(count, sizeof *blas->a);
    blas->b = ypi_calloc(count, sizeof *blas->b);
    blas->c = ypi_calloc(count, sizeof *blas->c);
    return blas;
}

/* Row i of A is i mod 7 + 1, column j of B is j mod 5 + 1: C[i][j] is n times their product. */
#define PRODUCT(name, type, gemm) \
    double name(struct ypi_blas *blas) \
    { \
        int n = blas->n; \
        size_t m = (size_t)n; \
        type *a = (type *)(void *)blas->a; \
        type *b = (type *)(void *)blas->b; \
        type *c = (type *)(void *)blas->c; \
        for (size_t i = 0; i < m * m; i++) { \
            a[i] = (type)(i / m % 7 + 1); \
            b[i] = (type)(i % m % 5 + 1); \
            c[i] = -1; \
        } \
        double begin = ypi_now(); \
        blas->gemm(ROW_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, n, n, n, 1, a, n, b, n, 0, c, n); \
        double seconds = ypi_now() - begin; \
        for (size_t i = 0; i < m * m; i += m + 1) \
            if ((size_t)c[i] != m * (i / m % 7 + 1) * (i % m % 5 + 1)) \
                return NAN; \
        return 2.0 * n * n * n / seconds; \
    }
PRODUCT(ypi_blas_single, float, sgemm)
PRODUCT(ypi_blas_double, double, dgemm)

void ypi_blas_close(struct ypi_blas *blas)
{
    if (blas == NULL)
        return;
    free(blas->a);
    free(blas->b);
    free(blas->c);
    free(blas); /* the library stays loaded: its threads may still be running */
}
