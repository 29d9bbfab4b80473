/* Built twice, with another BUILD. */
__attribute__((visibility("default"))) int build_of_library(void);

int build_of_library(void)
{
    return BUILD;
}
