// Certificates made for one test: an authority, and what it signs. For tests only.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mcpx::test {

struct Certificate {
  std::string certificate, key;  // PEM
};

struct Wanted {
  std::string common_name = "mcpx test";
  std::string names = "DNS:localhost,IP:127.0.0.1,IP:::1";  // subjectAltName; empty: none
  int starts_in_days = -1;
  int ends_in_days = 30;
  bool authority = false;
};

class Authority {
 public:
  explicit Authority(const std::string& name);
  Certificate issue(const Wanted& wanted) const;
  const Certificate& own() const { return own_; }

 private:
  Certificate own_;
};

// A certificate that vouches for itself.
Certificate self_signed(const Wanted& wanted);

// Files that go with the object.
class Files {
 public:
  Files();
  ~Files();
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  std::string write(const std::string& name, const std::string& content);  // answers the path
  const std::string& directory() const { return directory_; }

 private:
  std::string directory_;
  std::vector<std::string> written_;
};

}  // namespace mcpx::test
