# Writes OUTPUT, the source behind src/server/web_files.h, which holds every file of FOLDER:
# cmake -DFOLDER=... -DOUTPUT=... -P EmbedFiles.cmake
file(GLOB paths LIST_DIRECTORIES false ${FOLDER}/*)
list(SORT paths)

set(entries "")
foreach(path IN LISTS paths)
  get_filename_component(name ${path} NAME)
  file(SHA256 ${path} hash)
  string(SUBSTRING ${hash} 0 16 hash)
  file(READ ${path} hex HEX)
  # Literals of 32 bytes, which the compiler joins.
  string(REGEX REPLACE "(................................................................)" "\\1\"\n    \"" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "\\\\x\\1" text "${hex}")
  string(APPEND entries "    {\"${name}\", \"\\\"${hash}\\\"\",\n    bytes(\"${text}\")},\n")
endforeach()

file(WRITE ${OUTPUT} "#include \"server/web_files.h\"

#include <cstddef>

namespace sluice::server {
namespace {

template <size_t size>
constexpr std::string_view bytes(const char (&literal)[size]) {
  return {literal, size - 1};
}

constexpr WebFile kFiles[] = {
${entries}};

}  // namespace

std::span<const WebFile> web_files() { return kFiles; }

}  // namespace sluice::server
")
