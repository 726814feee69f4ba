#include "io/unnamed_file.h"

#include "base/error.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sluice::io {

UnnamedFile::UnnamedFile(const std::filesystem::path& folder) {
  std::string path = (folder / ".sluice-probe-XXXXXX").string();
  descriptor_ = ::mkstemp(path.data());
  if (descriptor_ < 0) {
    throw Error(ErrorCode::kIo, "{}: cannot be written; choose another folder: {}", folder.string(),
                std::strerror(errno));
  }
  ::unlink(path.c_str());
}

UnnamedFile::~UnnamedFile() { ::close(descriptor_); }

std::string UnnamedFile::path() const { return fmt::format("/dev/fd/{}", descriptor_); }

void UnnamedFile::go_around_cache(bool on) const {
#ifdef O_DIRECT
  const int flags = ::fcntl(descriptor_, F_GETFL);
  (void)::fcntl(descriptor_, F_SETFL, on ? flags | O_DIRECT : flags & ~O_DIRECT);
#else
  (void)::fcntl(descriptor_, F_NOCACHE, on ? 1 : 0);
#endif
}

}  // namespace sluice::io
