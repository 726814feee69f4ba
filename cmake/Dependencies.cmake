# Every library that the sources use, all from packages of the distribution. Nothing is downloaded.

find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)  # header-only

if(CMAKE_CROSSCOMPILING)
  # The compiled libfmt belongs to the build machine; its header-only form belongs to none.
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
else()
  find_package(fmt REQUIRED)
endif()

# Sets NAME_LIBRARY to the library, or to nothing where it is not installed; it belongs to the build machine.
function(find_optional name header library)
  set(${name}_LIBRARY "" PARENT_SCOPE)
  if(CMAKE_CROSSCOMPILING)
    return()
  endif()
  find_path(${name}_INCLUDE ${header})
  find_library(${name}_FOUND ${library})
  if(${name}_INCLUDE AND ${name}_FOUND)
    set(${name}_LIBRARY ${${name}_FOUND} PARENT_SCOPE)
  endif()
endfunction()

# io_uring is Linux's; without the library, and in a program for another machine, reads are made by threads.
find_optional(LIBURING liburing.h uring)

# Packs of coded pieces; without the library those of raw pieces are read all the same.
find_optional(ZSTD zstd.h zstd)
find_file(XXHASH_HEADER xxhash.h REQUIRED)  # Checksums; header-only.

# SHA-256 of shards, for packing; without the library everything else works.
find_optional(CRYPTO openssl/evp.h crypto)

if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Drives that fail as told; without the library the tests that need them are skipped.
  find_path(FUSE_INCLUDE fuse3/fuse_lowlevel.h)
  find_library(FUSE_FOUND fuse3)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # For tests, also those of a cross build.

find_program(MOLD mold)  # Links the test programs in a part of the time.
find_program(CCACHE ccache)
if(CCACHE)
  # Else it leaves whatever uses a precompiled header to the compiler.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()
