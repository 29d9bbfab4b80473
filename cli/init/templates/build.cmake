# Tests of Yieldpoint: a project of its own, which `cmake -S @FOLDER@` configures, as the gate and the jobs do.
cmake_minimum_required(VERSION 3.25)
project(perf C)
enable_testing()
find_package(yieldpoint REQUIRED)
yieldpoint_add_suite(perf-suite suite.c)
# What is tested. The first line brings the targets of the whole project.
# add_subdirectory("${CMAKE_CURRENT_SOURCE_DIR}/@UP@" project)
# target_link_libraries(perf-suite PRIVATE mylib)
yieldpoint_discover_tests(perf-suite)
