// Questions: what a server asks of a client (elicitation, sampling, roots), who may be asked what,
// and how a question and its answer are spelled for the other side. The vocabulary of the rooms
// that carry questions. Pure. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "json/json.hpp"
#include "mcp/revision.hpp"

namespace mcpx::mcp {

// What a client declared that it can be asked, as bits.
using Askable = std::uint8_t;
inline constexpr Askable kAskForm = 1, kAskUrl = 2, kAskSampling = 4, kAskSamplingTools = 8,
                         kAskSamplingContext = 16, kAskRoots = 32,
                         kAskRootsChanges = 64;  // it says when they change

// Of a raw ClientCapabilities object, with the meaning it has in that revision: `elicitation: {}`
// is the form mode alone, and what a revision never defined counts for nothing.
Askable askable_of(json::Raw capabilities, Revision revision);
// The raw ClientCapabilities object that says so.
std::string client_capabilities(Askable askable);

// Raw ClientCapabilities that say this too; what they say besides stays.
std::string widened_capabilities(json::Raw capabilities, Askable askable, Askable extra);

enum class QuestionKind : std::uint8_t { form, url, sampling, roots };
// nullopt for every other method, and for a mode of elicitation that nobody has defined.
std::optional<QuestionKind> question_kind(std::string_view method, json::Raw params);
// What a client must have declared to be asked this.
Askable needed_for(QuestionKind kind, json::Raw params);

// The error object for a question to a client that did not declare what it takes.
std::string undeclared_error(QuestionKind kind, Askable askable);
// What a server is answered when its question stays without an answer: the user made no choice.
// Exactly one of the two is set.
struct NoAnswer {
  std::string result, error;
};
NoAnswer no_answer(QuestionKind kind, std::string_view why);

struct QuestionContext {
  Revision to = kLatestLegacy;  // of the client that is asked
  Askable askable = 0;
  std::string_view server;  // named in the message; empty: the client knows whom it talks to
  std::string_view elicitation_id;  // for a url question without one; only 2025-11-25 has them
};
// The params of a question for the client: what belongs to the other hop goes, what its revision
// does not have goes, everything else stays byte for byte (url, requestedSchema, hints, maxTokens).
std::string question_params_for(QuestionKind kind, json::Raw params,
                                const QuestionContext& context);

// True if `result` is an answer to such a question at all.
bool is_answer(QuestionKind kind, json::Raw result);
// The answer as the server gets it: an accepted form has the defaults of its schema for what the
// client left out (SEP-1034), and what only results of 2026-07-28 carry is gone.
std::string answer_for(QuestionKind kind, json::Raw params, json::Raw result);

}  // namespace mcpx::mcp
