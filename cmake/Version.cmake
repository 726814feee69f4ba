# Writes OUTPUT, the source behind src/cli/version.h, for VERSION and the commit of SOURCE:
# cmake -DSOURCE=... -DVERSION=... -DOUTPUT=... -P Version.cmake
execute_process(COMMAND git -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
  OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
# Text that is the same keeps the file's time, so that nothing is built anew.
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT [[
#include "cli/version.h"

namespace sluice::cli {
const std::string_view kVersion = "@VERSION@";
const std::string_view kCommit = "@commit@";
}
]] @ONLY)
