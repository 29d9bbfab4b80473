# What a project calls, behind find_package(yieldpoint).
include_guard(GLOBAL)
set(_YIELDPOINT_DISCOVER "${CMAKE_CURRENT_LIST_DIR}/yieldpointDiscover.cmake" CACHE INTERNAL "")

# yieldpoint_add_suite(NAME SOURCE... [HEAP] [MPI] [LIBRARIES LIBRARY...])
#
# A test program of these sources, linked to Yieldpoint and to LIBRARIES. HEAP: its tests may declare .heap. MPI: the ranks
# of its tests may use MPI.
function(yieldpoint_add_suite name)
  cmake_parse_arguments(PARSE_ARGV 1 suite "HEAP;MPI" "" "LIBRARIES")
  if(NOT suite_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "yieldpoint_add_suite(${name}): no source files")
  endif()
  if(suite_MPI AND NOT TARGET yieldpoint::mpi)
    get_property(reason GLOBAL PROPERTY YIELDPOINT_NO_MPI)
    message(FATAL_ERROR "yieldpoint_add_suite(${name}): MPI: ${reason}")
  endif()
  add_executable(${name} ${suite_UNPARSED_ARGUMENTS})
  set(yieldpoint yieldpoint::yieldpoint)
  if(suite_HEAP)
    set(yieldpoint yieldpoint::heap)
  endif()
  if(suite_MPI)
    list(APPEND yieldpoint yieldpoint::mpi)
  endif()
  target_link_libraries(${name} PRIVATE ${yieldpoint} ${suite_LIBRARIES})
endfunction()

# yieldpoint_discover_tests(TARGET [PER case|suite] [ARGS ARGUMENT...] [SELECT ARGUMENT...] [PREFIX TEXT]
#                           [LABELS LABEL...] [TIMEOUT SECONDS] [WORKING_DIRECTORY FOLDER])
#
# Tests of CTest. PER case (default): one a case, in a process of its own, with the case's tags as labels, found when
# TARGET is built. PER suite: one for the program, with LABELS alone. A case that times something runs while no other
# test does (RUN_SERIAL); `.parallel = true` lifts that. A test whose cases are all skipped is skipped. ARGS are given to
# every run, SELECT to the listing (or to the one run) to choose cases: SELECT -m "not slow". TIMEOUT: seconds of a test;
# without it a case has five times its own time-out and a minute, for confirmations and the machine's ceilings, and a
# suite has CTest's.
function(yieldpoint_discover_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 tests "" "PER;PREFIX;TIMEOUT;WORKING_DIRECTORY" "ARGS;SELECT;LABELS")
  if(tests_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "yieldpoint_discover_tests(${target}): unknown arguments: ${tests_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "yieldpoint_discover_tests(${target}): no such target")
  endif()
  if(NOT tests_PER)
    set(tests_PER case)
  endif()
  if(DEFINED tests_TIMEOUT AND NOT tests_TIMEOUT MATCHES "^[0-9]+(\\.[0-9]+)?$")
    message(FATAL_ERROR "yieldpoint_discover_tests(${target}): TIMEOUT '${tests_TIMEOUT}' is no number of seconds")
  endif()
  if(NOT tests_WORKING_DIRECTORY)
    set(tests_WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}") # a yieldpoint.ini is found from there
  endif()
  if(tests_PER STREQUAL "suite")
    add_test(NAME "${tests_PREFIX}${target}" COMMAND ${target} ${tests_ARGS} ${tests_SELECT}
      WORKING_DIRECTORY "${tests_WORKING_DIRECTORY}")
    set_tests_properties("${tests_PREFIX}${target}" PROPERTIES RUN_SERIAL TRUE LABELS "${tests_LABELS}"
      SKIP_REGULAR_EXPRESSION "=+ [0-9]+ skipped(, [0-9]+ deselected)? in [0-9]")
    if(DEFINED tests_TIMEOUT)
      set_tests_properties("${tests_PREFIX}${target}" PROPERTIES TIMEOUT ${tests_TIMEOUT})
    endif()
    return()
  elseif(NOT tests_PER STREQUAL "case")
    message(FATAL_ERROR "yieldpoint_discover_tests(${target}): PER '${tests_PER}'; it is case or suite")
  endif()

  get_property(multi GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(list "${CMAKE_CURRENT_BINARY_DIR}/${target}-yieldpoint.cmake")
  set(built "${list}")
  if(multi)
    set(built "${CMAKE_CURRENT_BINARY_DIR}/$<CONFIG>/${target}-yieldpoint.cmake")
    set(list "${CMAKE_CURRENT_BINARY_DIR}/\${CTEST_CONFIGURATION_TYPE}/${target}-yieldpoint.cmake")
  endif()
  # Arguments may hold spaces and quotes: they go by a file, not by a shell.
  set(settings "${CMAKE_CURRENT_BINARY_DIR}/${target}-yieldpoint-settings.cmake")
  set(text)
  foreach(name PREFIX TIMEOUT WORKING_DIRECTORY ARGS SELECT LABELS)
    string(APPEND text "set(${name} [==[${tests_${name}}]==])\n")
  endforeach()
  file(WRITE "${settings}" "${text}")
  add_custom_command(TARGET ${target} POST_BUILD BYPRODUCTS "${built}" VERBATIM
    COMMAND "${CMAKE_COMMAND}" "-DPROGRAM=$<TARGET_FILE:${target}>" "-DSETTINGS=${settings}" "-DOUTPUT=${built}"
      -P "${_YIELDPOINT_DISCOVER}")
  # CTest reads this; a program that was not built is a test that fails.
  set(included "${CMAKE_CURRENT_BINARY_DIR}/${target}-yieldpoint-include.cmake")
  file(WRITE "${included}" "if(EXISTS \"${list}\")\n  include(\"${list}\")\nelse()\n  add_test(${target}_NOT_BUILT ${target}_NOT_BUILT)\nendif()\n")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${included}")
endfunction()
