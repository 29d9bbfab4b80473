/* The words in which the kernels are written, for every processor: vectors as gcc and clang know
 * them without asking for instructions; vectors_avx512.h says what each means. */
typedef float plain_vector __attribute__((vector_size(16)));
typedef double plain_half __attribute__((vector_size(16)));
typedef struct {
    int lane[4];
} plain_turn;

#define SUMS /* of floats themselves */
#define SET "plain"
#define TARGET
#define W 4
#define R 4
#define N 2
#define V plain_vector
#define HALF plain_half
#define TURN plain_turn
#define SOME size_t

static inline plain_vector plain_load(const float *p, size_t lanes)
{
    plain_vector v = {0};
    for (size_t i = 0; i < lanes; i++)
        v[i] = p[i];
    return v;
}

static inline plain_vector plain_choose(plain_vector a, plain_vector b, bool least)
{
    for (int i = 0; i < 4; i++)
        a[i] = (least ? a[i] < b[i] : a[i] > b[i]) ? a[i] : b[i];
    return a;
}

static inline bool plain_wrong(plain_vector v)
{
    for (int i = 0; i < 4; i++)
        if (!(v[i] - v[i] == 0))
            return true;
    return false;
}

static inline plain_turn plain_load_turn(const int *p)
{
    return (plain_turn){{p[0], p[1], p[2], p[3]}};
}

#define LOAD(p) plain_load(p, 4)
#define STORE(p, v) \
    do { \
        plain_vector stored_ = (v); \
        memcpy(p, &stored_, sizeof stored_); \
    } while (0)
#define SAME(x) ((plain_vector){x, x, x, x})
#define FMA(a, b, c) ((c) + (a) * (b))
#define LEAST(a, b) plain_choose(a, b, true)
#define MOST(a, b) plain_choose(a, b, false)
#define FIRST(n) ((size_t)(n))
#define LOAD_SOME(p, some) plain_load(p, some)
#define WRONG(v) plain_wrong(v)
#define LOW_HALF(v) ((plain_half){(double)(v)[0], (double)(v)[1]})
#define HIGH_HALF(v) ((plain_half){(double)(v)[2], (double)(v)[3]})
#define SAME_HALF(x) ((plain_half){x, x})
#define LOAD_HALF(p) ((plain_half){(p)[0], (p)[1]})
#define STORE_HALF(p, v) ((p)[0] = (v)[0], (p)[1] = (v)[1])
#define LOAD_TURN(p) plain_load_turn(p)
#define PERMUTE(v, turn) \
    ((plain_vector){(v)[(turn).lane[0]], (v)[(turn).lane[1]], (v)[(turn).lane[2]], \
                    (v)[(turn).lane[3]]})

static inline void NAME(transpose)(V v[W])
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) {
            float moved = v[i][j];
            v[i][j] = v[j][i];
            v[j][i] = moved;
        }
}
