// Two ways to sort, on the same numbers: both are right, and the one that knows the type is faster.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string_view>
#include <vector>
#include <yieldpoint/yieldpoint.h>

namespace
{

std::vector<std::uint64_t> drawn(std::size_t count, std::uint64_t seed)
{
    std::vector<std::uint64_t> numbers(count);
    std::ranges::generate(numbers, [&seed] {
        seed ^= seed << 13U;
        seed ^= seed >> 7U;
        return seed ^= seed << 17U;
    });
    return numbers;
}

int compare(const void *a, const void *b)
{
    const auto x = *static_cast<const std::uint64_t *>(a);
    const auto y = *static_cast<const std::uint64_t *>(b);
    return (x > y) - (x < y);
}

void sort(std::span<std::uint64_t> numbers, std::string_view way)
{
    if (way == "std")
        std::ranges::sort(numbers);
    else if (way == "qsort")
        std::qsort(numbers.data(), numbers.size(), sizeof numbers[0], compare);
    else
        throw std::invalid_argument("no such way to sort");
}

} // namespace

YP_TEST(sorting, sorted, .tags = "stress small",
        .axes = YP_AXES(yp_axis_int("count", 1000, 100000), yp_axis_string("way", "std", "qsort")),
        .budgets = YP_BUDGETS(yp_min_rate("sort", 1e5)))
{
    const auto count = static_cast<std::size_t>(yp_int(t, "count"));
    const auto numbers = drawn(count, yp_seed(t) + 1);
    std::vector<std::uint64_t> work(numbers);

    yp_measure (t, "sort", .items = static_cast<double>(count)) {
        work = numbers;
        sort(work, yp_string(t, "way"));
    }
    yp_expect(t, std::ranges::is_sorted(work), "it is not sorted");
    std::uint64_t hash = 0;
    for (const auto number : work)
        hash = hash * 31 + number;
    yp_data_hash(t, hash);
}

// An exception that a body does not catch is a failed check with its text.
YP_TEST(sorting, refuses, .tags = "small", .xfail = "there is no third way", .xfail_strict = true)
{
    std::vector<std::uint64_t> numbers = drawn(10, 1);
    sort(numbers, "bubbles");
}

YP_RELATION(sorting, both_agree, .tags = "stress small",
            .relation = yp_same_hash("sorting.cpp::sorted[count=1000-way=std]",
                                     "sorting.cpp::sorted[count=1000-way=qsort]"));
