#include "upstream/catalogue.hpp"

#include <utility>

#include "json/json.hpp"
#include "mcp/extensions.hpp"

namespace mcpx::upstream {
namespace {

bool says(json::Raw definition, std::string_view hint) {
  return json::find(definition, "annotations", hint) == "true";
}

TaskSupport task_support(json::Raw definition) {
  if (!json::may_mention(definition, "taskSupport")) return TaskSupport::forbidden;
  const auto said = json::find(definition, "execution", "taskSupport");
  if (said == R"("required")") return TaskSupport::required;
  return said == R"("optional")" ? TaskSupport::optional : TaskSupport::forbidden;
}

}  // namespace

void Catalogue::note_traits() {
  traits_.clear();
  for (const Item& tool : list(mcp::ListKind::tools).items) {
    ToolTraits traits;
    traits.repeatable =
        says(tool.definition, "readOnlyHint") || says(tool.definition, "idempotentHint");
    if (const auto schema = json::find(tool.definition, "inputSchema")) {
      traits.mirrored = mcp::read_param_headers(*schema).params;
    }
    traits.app_only = mcp::is_app_only(tool.definition);
    traits.tasks = task_support(tool.definition);
    const bool plain = !traits.repeatable && !traits.app_only && traits.mirrored.empty() &&
                       traits.tasks == TaskSupport::forbidden;
    if (!plain) traits_.emplace(tool.id, std::move(traits));
  }
}

const ToolTraits* Catalogue::traits_of(std::string_view tool) const {
  if (traits_.empty()) return nullptr;
  const auto found = traits_.find(tool);
  return found == traits_.end() ? nullptr : &found->second;
}

bool Catalogue::repeatable(std::string_view tool) const {
  const ToolTraits* traits = traits_of(tool);
  return traits && traits->repeatable;
}

}  // namespace mcpx::upstream
