#include "ask/seal.hpp"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "base/digest.hpp"

namespace mcpx::ask {
namespace {

constexpr std::string_view kVersion = "mcpx2.";
constexpr std::size_t kNonce = 12, kTag = 16;
constexpr std::size_t kKeyId = 4;                    // bytes
constexpr std::size_t kLongest = 64u * 1024 * 1024;  // no message is longer

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}
const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
int length_of(std::string_view text) {
  return static_cast<int>(text.size());
}

// RFC 4648 section 5, without padding.
std::string to_url(std::string_view bytes) {
  std::string text = base64(bytes);
  while (!text.empty() && text.back() == '=')
    text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// Only what to_url() writes: one text for one sealed value.
std::optional<std::string> from_url(std::string_view text) {
  std::string padded(text);
  std::replace(padded.begin(), padded.end(), '-', '+');
  std::replace(padded.begin(), padded.end(), '_', '/');
  const std::size_t missing = (4 - padded.size() % 4) % 4;
  padded.append(missing, '=');
  std::string out(padded.size() / 4 * 3, '\0');
  const int size =
      EVP_DecodeBlock(bytes_of(out), bytes_of(std::string_view(padded)), length_of(padded));
  if (size < 0 || missing == 3) return std::nullopt;
  out.resize(static_cast<std::size_t>(size) - missing);
  if (to_url(out) != text) return std::nullopt;
  return out;
}

void fill_random(unsigned char* out, std::size_t size) {
  MCPX_CHECK(getrandom(out, size, 0) == static_cast<ssize_t>(size));
}

}  // namespace

Seal::Key Seal::random_key(std::int64_t from) {
  Key key;
  key.from = from;
  fill_random(key.bytes.data(), key.bytes.size());
  std::string id(kKeyId, '\0');
  fill_random(bytes_of(id), id.size());
  key.id = hex(id);
  return key;
}

Seal::Seal(std::vector<Key> keys) : keys_(std::move(keys)) {
  MCPX_CHECK(!keys_.empty());
}

bool Seal::is_sealed(std::string_view text) {
  return text.starts_with(kVersion);
}

// Where the clock was turned back none has begun yet.
const Seal::Key& Seal::key_at(std::int64_t now) const {
  const auto newest =
      std::find_if(keys_.rbegin(), keys_.rend(), [now](const Key& key) { return key.from <= now; });
  return newest == keys_.rend() ? keys_.front() : *newest;
}

const Seal::Key* Seal::key_named(std::string_view id) const {
  const auto found =
      std::find_if(keys_.begin(), keys_.end(), [id](const Key& key) { return key.id == id; });
  return found == keys_.end() ? nullptr : &*found;
}

std::string Seal::close(std::string_view text, std::int64_t now) const {
  const Key& key = key_at(now);
  const std::string head = fmt::format("{}{}.", kVersion, key.id);
  std::string out(kNonce + text.size() + kTag, '\0');
  unsigned char* const at = bytes_of(out);
  fill_random(at, kNonce);
  const Context context(EVP_CIPHER_CTX_new());
  MCPX_CHECK(context != nullptr);
  int size = 0, rest = 0;
  const bool done =
      EVP_EncryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key.bytes.data(), at) == 1 &&
      EVP_EncryptUpdate(context.get(), nullptr, &size, bytes_of(std::string_view(head)),
                        length_of(head)) == 1 &&
      EVP_EncryptUpdate(context.get(), at + kNonce, &size, bytes_of(text), length_of(text)) == 1 &&
      EVP_EncryptFinal_ex(context.get(), at + kNonce + size, &rest) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, static_cast<int>(kTag),
                          at + kNonce + text.size()) == 1;
  MCPX_CHECK(done);
  return head + to_url(out);
}

std::optional<std::string> Seal::open(std::string_view sealed) const {
  if (sealed.size() > kLongest || !sealed.starts_with(kVersion)) return std::nullopt;
  const std::size_t dot = sealed.find('.', kVersion.size());
  if (dot == std::string_view::npos) return std::nullopt;
  const Key* const key = key_named(sealed.substr(kVersion.size(), dot - kVersion.size()));
  if (!key) return std::nullopt;
  const std::string_view head = sealed.substr(0, dot + 1);
  std::optional<std::string> bytes = from_url(sealed.substr(dot + 1));
  if (!bytes || bytes->size() < kNonce + kTag) return std::nullopt;
  unsigned char* const at = bytes_of(*bytes);
  std::string text(bytes->size() - kNonce - kTag, '\0');
  const Context context(EVP_CIPHER_CTX_new());
  MCPX_CHECK(context != nullptr);
  int size = 0, rest = 0;
  // The comparison of the tag inside is in constant time.
  const bool authentic =
      EVP_DecryptInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, key->bytes.data(), at) == 1 &&
      EVP_DecryptUpdate(context.get(), nullptr, &size, bytes_of(head), length_of(head)) == 1 &&
      EVP_DecryptUpdate(context.get(), bytes_of(text), &size, at + kNonce, length_of(text)) == 1 &&
      EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, static_cast<int>(kTag),
                          at + kNonce + text.size()) == 1 &&
      EVP_DecryptFinal_ex(context.get(), bytes_of(text) + size, &rest) == 1;
  if (!authentic) return std::nullopt;
  return text;
}

}  // namespace mcpx::ask
