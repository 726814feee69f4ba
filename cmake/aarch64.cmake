# Toolchain for 64-bit Arm with Debian's cross compiler. Its search path ends in /usr/include, so header-only
# libraries of the build machine serve, and a static program needs nothing from an Arm system to run.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT -static)
# ctest starts the programs of this build through it.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
# A compiled library of the build machine must never be taken for one of the target.
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
