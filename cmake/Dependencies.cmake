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

# io_uring is Linux's; without the library, and in a program for another machine, reads are made by threads.
set(LIBURING_LIBRARY "")
if(NOT CMAKE_CROSSCOMPILING)
  find_path(LIBURING_INCLUDE liburing.h)
  find_library(LIBURING_FOUND uring)
  if(LIBURING_INCLUDE AND LIBURING_FOUND)
    set(LIBURING_LIBRARY ${LIBURING_FOUND})
  endif()
endif()

# Packs of coded pieces; without the library those of raw pieces are read all the same.
set(ZSTD_LIBRARY "")
if(NOT CMAKE_CROSSCOMPILING)
  find_path(ZSTD_INCLUDE zstd.h)
  find_library(ZSTD_FOUND zstd)
  if(ZSTD_INCLUDE AND ZSTD_FOUND)
    set(ZSTD_LIBRARY ${ZSTD_FOUND})
  endif()
endif()
find_file(XXHASH_HEADER xxhash.h REQUIRED)  # Checksums; header-only.

# SHA-256 of shards, for packing; without the library everything else works.
set(CRYPTO_LIBRARY "")
if(NOT CMAKE_CROSSCOMPILING)
  find_path(CRYPTO_INCLUDE openssl/evp.h)
  find_library(CRYPTO_FOUND crypto)
  if(CRYPTO_INCLUDE AND CRYPTO_FOUND)
    set(CRYPTO_LIBRARY ${CRYPTO_FOUND})
  endif()
endif()

if(SLUICE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  # Drives that fail as told; without the library the tests that need them are skipped.
  find_path(FUSE_INCLUDE fuse3/fuse_lowlevel.h)
  find_library(FUSE_FOUND fuse3)
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)  # For tests, also those of a cross build.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
