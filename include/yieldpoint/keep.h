/*
 * Values and memory that the compiler must neither predict nor remove.
 *
 *     yp_measure(t, "sine") {
 *         yp_keep(x);
 *         y = sin(x);
 *         yp_keep(y);
 *     }
 *
 * Without the first yp_keep the compiler computes sin(x) once, before the loop; without the second
 * it does not compute it at all. Floats, doubles, integers and pointers stay in a register; other
 * types go to memory and back.
 */
#ifndef YIELDPOINT_KEEP_H
#define YIELDPOINT_KEEP_H

/* The compiler must assume that all memory is read and changed here. */
#define yp_clobber() __asm__ volatile("" : : : "memory")

/*
 * yp_keep(variable): the compiler must assume that the variable is read here and that it and all
 * memory change. For a pointer, this covers the pointer and its target. Not for bit-fields; a const
 * variable keeps its value.
 *
 * yp_use(value): the value of any expression must be computed here. In C++, yp_keep accepts
 * expressions too.
 */

#if defined(__SSE2__)
#define YPI_FLOATING "+x"
#elif defined(__aarch64__)
#define YPI_FLOATING "+w"
#else
#define YPI_FLOATING "+m"
#endif

/* A name, the type, and the constraint of a register that holds it. */
#define YPI_KEPT(X_) \
    X_(float, float, YPI_FLOATING) \
    X_(double, double, YPI_FLOATING) \
    X_(int, int, "+r") \
    X_(unsigned, unsigned, "+r") \
    X_(long, long, "+r") \
    X_(unsigned_long, unsigned long, "+r") \
    X_(long_long, long long, YPI_LONG_LONG) \
    X_(unsigned_long_long, unsigned long long, YPI_LONG_LONG)
#ifdef __LP64__
#define YPI_LONG_LONG "+r"
#else
#define YPI_LONG_LONG "+m"
#endif

#ifndef __cplusplus

#define YPI_KEEP_TYPE(name_, type_, where_) \
    static inline void ypi_keep_##name_(type_ *variable) \
    { \
        __asm__ volatile("" : where_(*variable) : : "memory"); \
    }
YPI_KEPT(YPI_KEEP_TYPE)
YPI_KEEP_TYPE(pointer, void *, "+r")
YPI_KEEP_TYPE(floats, float *, "+r")
YPI_KEEP_TYPE(doubles, double *, "+r")
#undef YPI_KEEP_TYPE
static inline void ypi_keep_other(const volatile void *variable)
{
    __asm__ volatile("" : : "r"(variable) : "memory");
}
#define YPI_KEEP_CHOICE(name_, type_, where_) type_ * : ypi_keep_##name_,
#define yp_keep(variable_) \
    _Generic(&(variable_), YPI_KEPT(YPI_KEEP_CHOICE) void **: ypi_keep_pointer,                 \
             float **: ypi_keep_floats, double **: ypi_keep_doubles,                            \
             default: ypi_keep_other)(&(variable_))
#define yp_use(value_) \
    do { \
        __extension__ __auto_type ypi_used_ = (value_); \
        yp_keep(ypi_used_); \
    } while (0)

#else

extern "C++" {
#ifdef __CUDACC__
#define YPI_EVERYWHERE __host__ __device__ inline
#else
#define YPI_EVERYWHERE inline
#endif
#ifdef __CUDA_ARCH__
#define YPI_KEEP_IN(where_, variable_) __asm__ volatile("" : : "l"(&(variable_)) : "memory")
#define YPI_KEEP_THERE(variable_) YPI_KEEP_IN("", variable_)
#else
#define YPI_KEEP_IN(where_, variable_) __asm__ volatile("" : where_(variable_) : : "memory")
#define YPI_KEEP_THERE(variable_) __asm__ volatile("" : : "r"(&(variable_)) : "memory")
#endif
#define YPI_KEEP_TYPE(name_, type_, where_) \
    YPI_EVERYWHERE void yp_keep(type_ &variable) \
    { \
        YPI_KEEP_IN(where_, variable); \
    }
YPI_KEPT(YPI_KEEP_TYPE)
#undef YPI_KEEP_TYPE
template <class T> YPI_EVERYWHERE void yp_keep(T *&variable)
{
    YPI_KEEP_IN("+r", variable);
}
/* A variable of another type, a const variable, or the value of an expression. */
template <class T> YPI_EVERYWHERE void yp_keep(T &&other)
{
    YPI_KEEP_THERE(other);
}
template <class T> YPI_EVERYWHERE void yp_use(const T &value)
{
    YPI_KEEP_THERE(value);
}
}

#endif

#endif
