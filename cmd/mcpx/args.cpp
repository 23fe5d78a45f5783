#include "args.hpp"

#include <fmt/format.h>

#include <charconv>

#include "config/suggest.hpp"

namespace mcpx::cli {
namespace {

const Option* find(std::span<const Option> known, std::string_view name) {
  for (const Option& option : known) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

Error unknown(std::string_view name, std::span<const Option> known) {
  std::vector<std::string_view> names;
  for (const Option& option : known)
    names.push_back(option.name);
  const auto near = config::nearest(name, names);
  return Error("cli.usage", fmt::format("unknown option '--{}'", name),
               near ? fmt::format("did you mean '--{}'?", *near) : "see --help");
}

}  // namespace

std::optional<std::string> Parsed::value(std::string_view name) const {
  const auto found = options.find(name);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Parsed::values(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::vector<std::string>() : found->second;
}

Result<Parsed> parse_args(std::span<const std::string> args, std::span<const Option> known) {
  Parsed out;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (arg == "--") {
      out.rest.insert(out.rest.end(), args.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                      args.end());
      break;
    }
    if (arg == "-h") arg = "--help";
    if (arg.size() < 2 || arg.front() != '-') {
      out.rest.emplace_back(arg);
      continue;
    }
    if (arg[1] != '-') {
      return Error("cli.usage", fmt::format("unknown option '{}'", arg),
                   "options start with two dashes; write '--' before an argument that starts with "
                   "one");
    }
    const std::size_t equals = arg.find('=');
    const std::string_view name =
        arg.substr(2, equals == std::string_view::npos ? arg.size() : equals - 2);
    const Option* option = find(known, name);
    if (!option) return unknown(name, known);
    std::vector<std::string>& values = out.options[std::string(name)];
    if (option->placeholder.empty()) {
      if (equals != std::string_view::npos) {
        return Error("cli.usage", fmt::format("option '--{}' takes no value", name),
                     "leave it out");
      }
    } else if (equals != std::string_view::npos) {
      values.emplace_back(arg.substr(equals + 1));
    } else if (i + 1 < args.size()) {
      values.push_back(args[++i]);
    } else {
      return Error("cli.usage", fmt::format("option '--{}' needs a value", name),
                   fmt::format("write --{} {}", name, option->placeholder));
    }
  }
  return out;
}

Result<long> parse_seconds(std::string_view option, std::string_view text) {
  long value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > 86'400) {
    return Error("cli.usage", fmt::format("option '--{}' takes seconds, not '{}'", option, text),
                 fmt::format("write for example --{} 30", option));
  }
  return value;
}

}  // namespace mcpx::cli
