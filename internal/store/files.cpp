#include "store/files.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace mcpx::store {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDirectoryMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kOthers = 0077;
constexpr int kNameTries = 100;
constexpr std::array kCompanions = {"-wal", "-shm", "-journal"};

std::string reason_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

Error unavailable(const std::string& path, const std::string& reason) {
  return Error("store.unavailable", fmt::format("state directory {}: {}", path, reason),
               "set `state_dir` to a directory that mcpxd may write to");
}

// Like mkdir -p with mode 0700 throughout, as the XDG base directory specification asks for.
int make_directories(const fs::path& path) {
  if (::mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST) return 0;
  if (errno != ENOENT || !path.has_parent_path() || path.parent_path() == path) return errno;
  if (const int error = make_directories(path.parent_path()); error != 0) return error;
  return ::mkdir(path.c_str(), kDirectoryMode) == 0 || errno == EEXIST ? 0 : errno;
}

// Only a directory that is certainly ours is closed to others: `state_dir: /tmp` must not be.
bool is_ours(const fs::path& directory) {
  std::error_code failure;
  return fs::exists(directory / kDatabaseName, failure) || fs::is_empty(directory, failure);
}

void check_directory_mode(const std::string& directory, const struct stat& info, Remarks& remarks) {
  const unsigned mode = info.st_mode & 07777;
  if ((mode & kOthers) == 0) return;
  if (is_ours(directory) && ::chmod(directory.c_str(), kDirectoryMode) == 0) {
    remarks.push_back(fmt::format("{} had mode {:04o}; it has 0700 now", directory, mode));
    return;
  }
  remarks.push_back(fmt::format(
      "{} has mode {:04o}: others may look into it; use a directory of mcpx's own, mode 0700",
      directory, mode));
}

void check_file_mode(const std::string& file, Remarks& remarks) {
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  const unsigned mode = info.st_mode & 07777;
  if (mode == kFileMode) return;
  const bool changed = ::chmod(file.c_str(), kFileMode) == 0;
  remarks.push_back(fmt::format("{} had mode {:04o}; {}", file, mode,
                                changed ? "it has 0600 now" : "it cannot be changed to 0600"));
}

std::string holder_of(int descriptor) {
  std::array<char, 32> text{};
  const ssize_t length = ::pread(descriptor, text.data(), text.size(), 0);
  std::string pid(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  pid.erase(std::find_if(pid.begin(), pid.end(), [](char c) { return c < '0' || c > '9'; }),
            pid.end());
  return pid.empty() ? "another mcpxd" : fmt::format("another mcpxd (process {})", pid);
}

bool exists(const std::string& file) {
  struct stat info {};
  return ::lstat(file.c_str(), &info) == 0;
}

// What is wrong with a file that SQLite would take for a new database, and whose log it would
// therefore delete: one shorter than its own first page. Null: nothing of that kind.
const char* fault_of(int descriptor, bool has_log) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  std::array<char, 18> head{};
  struct stat info {};
  if (::fstat(descriptor, &info) != 0) return nullptr;
  if (info.st_size == 0) return has_log ? "is empty, but has a write-ahead log" : nullptr;
  const ssize_t length = ::pread(descriptor, head.data(), head.size(), 0);
  if (length < 0) return "cannot be read";
  if (std::string_view(head.data(), kMagic.size()) != kMagic) return "is not a SQLite database";
  const int high = static_cast<unsigned char>(head[16]);
  const int low = static_cast<unsigned char>(head[17]);
  const int page = high * 256 + low == 1 ? 65'536 : high * 256 + low;  // SQLite file format, 1.3.2
  return info.st_size < page ? "ends within its first page" : nullptr;
}

// A name beside `file` that neither it nor a companion has yet.
std::string free_name(const std::string& file) {
  const std::string base = fmt::format("{}.corrupt-{}", file, utc_stamp());
  for (int i = 1; i < kNameTries; ++i) {
    std::string name = i == 1 ? base : fmt::format("{}-{}", base, i);
    const bool taken =
        exists(name) || std::any_of(kCompanions.begin(), kCompanions.end(),
                                    [&](const char* end) { return exists(name + end); });
    if (!taken) return name;
  }
  return base;  // the rename below refuses it
}

}  // namespace

DirectoryLock::~DirectoryLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> prepare_directory(const std::string& path, Remarks& remarks) {
  if (const int error = make_directories(path); error != 0) {
    return unavailable(path, reason_of(error));
  }
  std::error_code failure;
  const std::string directory = fs::canonical(path, failure).string();
  struct stat info {};
  if (failure || ::stat(directory.c_str(), &info) != 0) {
    return unavailable(path, reason_of(failure ? failure.value() : errno));
  }
  if (!S_ISDIR(info.st_mode)) return unavailable(path, "is not a directory");
  check_directory_mode(directory, info, remarks);
  return directory;
}

Result<DirectoryLock> lock_directory(const std::string& directory) {
  const std::string file = directory + "/" + kLockName;
  const int descriptor =
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, kFileMode);
  if (descriptor < 0)
    return unavailable(directory, fmt::format("{}: {}", kLockName, reason_of(errno)));
  DirectoryLock lock(descriptor);
  // Goes with the open file, so with the process, however that ends.
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return unavailable(directory, fmt::format("{}: {}", kLockName, reason_of(errno)));
    }
    return Error("store.locked",
                 fmt::format("{} uses the state directory {}", holder_of(descriptor), directory),
                 "stop it, or give each daemon a `state_dir` of its own");
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  // For the message above only.
  if (::ftruncate(descriptor, 0) == 0) {
    static_cast<void>(::pwrite(descriptor, pid.data(), pid.size(), 0) < 0);
  }
  return lock;
}

Result<void> prepare_file(const std::string& file, Remarks& remarks) {
  const auto unusable = [&](const std::string& reason) {
    return Error("store.damaged", fmt::format("{} {}", file, reason));
  };
  struct stat info {};
  if (::lstat(file.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return unusable("is not an ordinary file");
  }
  // Made here rather than by SQLite, which would give it the mode of the umask. It gives -wal and
  // -shm the mode of the database.
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode);
  if (descriptor < 0 && errno == EACCES) return unusable("cannot be read");
  if (descriptor < 0) return Error("store.failed", fmt::format("{}: {}", file, reason_of(errno)));
  const char* const fault = fault_of(descriptor, ::access((file + "-wal").c_str(), F_OK) == 0);
  ::close(descriptor);  // before SQLite takes its locks, which a close would drop
  check_file_mode(file, remarks);
  for (const char* end : kCompanions)
    check_file_mode(file + end, remarks);
  if (fault) return unusable(fault);
  return {};
}

Result<std::string> set_aside(const std::string& file) {
  std::string name = free_name(file);
  // The companions first: should this end half way, the database is still there to be set aside.
  for (const char* end : {"-wal", "-shm", "-journal", ""}) {
    const std::string from = file + end;
    if (!exists(from)) continue;
    if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, (name + end).c_str(), RENAME_NOREPLACE) !=
        0) {
      return Error("store.failed", fmt::format("{} cannot be renamed: {}", from, reason_of(errno)),
                   "move it away by hand");
    }
  }
  return name;
}

std::string utc_stamp() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%SZ", &parts);
  return {text.data(), length};
}

}  // namespace mcpx::store
