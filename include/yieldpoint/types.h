/*
 * Tests over types, for C++: one body, instantiated for each type of a list.
 *
 *     YP_TEST_TYPES(blas, dot, (float, double, my::half, std::complex<float>), .tags = "small",
 *                   .axes = YP_AXES(yp_axis_int("n", 1000, 100000)))
 *     {
 *         std::vector<T> x(yp_int(t, "n"), T(1));
 *         ...
 *     }
 *
 * The types form the first axis, "type". Cases are `file.cpp::dot[type=float-n=1000]` and so on;
 * `-k double`, `--set type=double` and relations over axes select them. The options are those of
 * YP_TEST, with one axis fewer. A list may be a macro that several tests share.
 *
 * The value of a type is its name as written in the list, without insignificant blanks;
 * yp_string(t, "type") returns it. Give a long or changing type a name of its own:
 *
 *     YP_TYPE_NAME("map", std::map<std::string, std::vector<int>>);
 *
 * at global scope and before the test. Two equal names in one list are an error at collection.
 */
#ifndef YIELDPOINT_TYPES_H
#define YIELDPOINT_TYPES_H

#ifdef __cplusplus

#include <cstddef>
#include <cstring>
#include <string>
#include <yieldpoint/case.h>

namespace yieldpoint_internal
{
template <class T> struct type_name {
    static constexpr const char *of = nullptr; /* as written */
};

/* The end of the type at `at` in the text of a list, "(a, b<c, d>)": its comma or the end. */
constexpr const char *behind_type(const char *at)
{
    int depth = 0;
    for (; *at != '\0'; at++) {
        if (depth == 0 && (*at == ',' || (*at == ')' && at[1] == '\0')))
            break;
        depth += *at == '<' || *at == '(' || *at == '[' || *at == '{';
        depth -= *at == '>' || *at == ')' || *at == ']' || *at == '}';
    }
    return at;
}

constexpr std::size_t type_count(const char *text)
{
    std::size_t count = 0;
    for (const char *at = text; *at == '(' || *at == ','; count++)
        at = behind_type(at + 1);
    return count;
}

inline bool is_of_word(char c)
{
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The type `number` of the list, with blanks only between two words. */
inline std::string written_type(const char *text, std::size_t number)
{
    std::string name;
    const char *at = text + 1;
    while (number-- > 0)
        at = behind_type(at) + 1;
    for (const char *end = behind_type(at); at < end; at++) {
        bool blank = *at == ' ';
        if (!blank || (!name.empty() && is_of_word(name.back()) && is_of_word(at[1])))
            name += *at;
    }
    return name;
}

template <class... Types> struct type_list {
    static constexpr std::size_t count = sizeof...(Types);

    static std::string name(const char *text, std::size_t number)
    {
        const char *const given[] = {type_name<Types>::of...};
        return given[number] != nullptr ? std::string(given[number]) : written_type(text, number);
    }

    template <class Test> static void run(struct yp_case *t, std::size_t number)
    {
        static void (*const bodies[])(struct yp_case *) = {Test::template body<Types>...};
        bodies[number](t);
    }
};

template <class Test> enum yp_status add_types(struct yp_axis_values *values, const void *)
{
    enum yp_status status = YP_OK;
    for (std::size_t i = 0; i < Test::list::count && status == YP_OK; i++)
        status = yp_axis_add_string(values, Test::list::name(Test::text(), i).c_str());
    return status;
}

template <class Test> void run_type(struct yp_case *t)
{
    for (std::size_t i = 0; i < Test::list::count; i++)
        if (Test::list::name(Test::text(), i) == yp_string(t, "type")) {
            Test::list::template run<Test>(t, i);
            return;
        }
    yp_fail(t, "no type '%s' in %s", yp_string(t, "type"), Test::text());
}
} // namespace yieldpoint_internal

/* clang-format off */
#define YP_TYPE_NAME(name_, ...)                                                                \
    template <> struct yieldpoint_internal::type_name<__VA_ARGS__> {                            \
        static constexpr const char *of = name_;                                                \
    }

#define YPI_BARE(...) __VA_ARGS__
#define YP_TEST_TYPES(...) YPI_TEST_TYPES(__VA_ARGS__, .end_ = 0)
#define YPI_TEST_TYPES(group_, name_, types_, ...)                                              \
    template <class T> static void ypi_body_##group_##_##name_(struct yp_case *t);              \
    namespace                                                                                   \
    {                                                                                           \
    struct ypi_types_##group_##_##name_ {                                                       \
        using list = yieldpoint_internal::type_list<YPI_BARE types_>;                           \
        static constexpr const char *text()                                                     \
        {                                                                                       \
            return #types_;                                                                     \
        }                                                                                       \
        template <class T> static void body(struct yp_case *t)                                  \
        {                                                                                       \
            ypi_body_##group_##_##name_<T>(t);                                                  \
        }                                                                                       \
    };                                                                                          \
    static_assert(yieldpoint_internal::type_count(#types_) ==                                \
                  ypi_types_##group_##_##name_::list::count,                                    \
                  "the text of a type has a '<' or '>' that is no bracket: name it by `using`");\
    }                                                                                           \
    YPI_DECLARE(group_, name_, yieldpoint_internal::run_type<ypi_types_##group_##_##name_>,     \
        .types = yp_axis_from("type",                                                           \
            yieldpoint_internal::add_types<ypi_types_##group_##_##name_>, nullptr),             \
        __VA_ARGS__);                                                                           \
    template <class T>                                                                          \
    static void ypi_body_##group_##_##name_(struct yp_case *t __attribute__((unused)))
/* clang-format on */

#endif
#endif
