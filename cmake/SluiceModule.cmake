# The flags of every target of this project, and sluice_module(): a folder of src/ as a library and its tests.

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
  # One answer: the compiler may not fuse, reorder or approximate floating point on its own.
  -ffp-contract=off -fno-fast-math)
target_include_directories(sluice_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(sluice_flags INTERFACE Threads::Threads fmt::fmt)
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(sluice_flags INTERFACE -Wthread-safety)
endif()
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(sluice_flags INTERFACE -fuse-ld=mold)
endif()
if(SLUICE_SANITIZE)
  target_compile_options(sluice_flags INTERFACE
    -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
    # The check of virtual tables opens a pipe, which fails in a test that uses up the file descriptors.
    -fno-sanitize=vptr)
  target_link_options(sluice_flags INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
if(SLUICE_FUZZ)
  # The libraries report coverage to the fuzzer; only the fuzz programs link its main().
  target_compile_options(sluice_flags INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(sluice_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Headers that take long to read and that most files include, compiled once: GoogleTest's for tests, and others in builds
# besides the optimised one, which shows whether each file includes what it uses.
if(SLUICE_PRECOMPILE)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cpp CONTENT "")
  add_library(sluice_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(sluice_precompiled PRIVATE sluice_flags)
  target_precompile_headers(sluice_precompiled PRIVATE
    <algorithm> <chrono> <functional> <map> <memory> <optional> <string> <utility> <variant> <vector> <fmt/format.h>)
endif()
if(SLUICE_TESTS)
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled_test.cpp CONTENT "")
  add_library(sluice_precompiled_test OBJECT ${PROJECT_BINARY_DIR}/precompiled_test.cpp)
  target_link_libraries(sluice_precompiled_test PRIVATE sluice_flags GTest::gtest GTest::gmock)
  target_precompile_headers(sluice_precompiled_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
endif()

# sluice_test(NAME SOURCES file... [DEPS target...] [LABELS label...] [TIMEOUT seconds]): a GoogleTest program.
# Each of its cases is a ctest test "NAME:Suite.Case". docs/testing.md says what the labels mean.
function(sluice_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  if(NOT SLUICE_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE
    sluice_flags ${arg_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE
    SLUICE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" SLUICE_BINARY_DIR="${PROJECT_BINARY_DIR}")
  target_precompile_headers(${name} REUSE_FROM sluice_precompiled_test)
  # gtest_discover_tests() writes its properties into a script, where a bare list would fall apart.
  string(REPLACE ";" "\\;" labels "${arg_LABELS}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}:"
    PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
endfunction()

# sluice_module(NAME [DEPS module...] [LINK library...]): library sluice_NAME from the folder's *.cpp, and the
# test program NAME_test from its *_test.cpp, so that a test file cannot be forgotten.
function(sluice_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cpp)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  set(deps ${arg_DEPS})
  list(TRANSFORM deps PREPEND sluice_)
  if(sources)
    add_library(sluice_${name} STATIC ${sources})
    target_link_libraries(sluice_${name} PUBLIC sluice_flags ${deps} PRIVATE ${arg_LINK})
    if(SLUICE_PRECOMPILE AND NOT name STREQUAL kernels)  # Their files have flags of their own and may share no code.
      target_precompile_headers(sluice_${name} REUSE_FROM sluice_precompiled)
    endif()
  else()
    add_library(sluice_${name} INTERFACE)
    target_link_libraries(sluice_${name} INTERFACE sluice_flags ${deps})
  endif()
  if(tests)
    sluice_test(${name}_test SOURCES ${tests} DEPS sluice_${name} ${arg_LINK} LABELS unit)
  endif()
endfunction()
