// SPDX-License-Identifier: BSD-2-Clause
#include "spec/model/model_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <vector>

#include "core/base/nearest.h"
#include "spec/text_file.h"

namespace softib::spec {

namespace {

using plan::Model;

struct NumberKey {
    std::string_view name;
    std::uint32_t Model::* field;
};
constexpr NumberKey kNumberKeys[] = {
    {"layers", &Model::layers},
    {"hidden", &Model::hidden},
    {"heads", &Model::heads},
    {"kv_heads", &Model::kv_heads},
    {"head_dim", &Model::head_dim},
    {"ffn", &Model::ffn},
    {"vocabulary", &Model::vocabulary},
    {"sequence", &Model::sequence},
    {"q_rank", &Model::q_rank},
    {"kv_rank", &Model::kv_rank},
    {"rope_dim", &Model::rope_dim},
    {"value_dim", &Model::value_dim},
    {"experts", &Model::experts},
    {"top_k", &Model::top_k},
    {"expert_ffn", &Model::expert_ffn},
    {"shared_experts", &Model::shared_experts},
    {"dense_layers", &Model::dense_layers},
    {"nodes_per_token", &Model::nodes_per_token},
};

struct SwitchKey {
    std::string_view name;
    bool Model::* field;
};
constexpr SwitchKey kSwitchKeys[] = {
    {"gated", &Model::gated},
    {"biases", &Model::biases},
    {"learned_positions", &Model::learned_positions},
    {"tied_embeddings", &Model::tied_embeddings},
    {"dropout", &Model::dropout},
};

struct TextKey {
    std::string_view name;
    std::string Model::* field;
};
constexpr TextKey kTextKeys[] = {
    {"name", &Model::name}, {"title", &Model::title}, {"source", &Model::source}};

constexpr std::int64_t kNumberMost = 100'000'000;

std::string unknown_model_key(std::string_view key) {
    std::vector<std::string_view> names{"base"};
    for (const NumberKey& each : kNumberKeys) {
        names.push_back(each.name);
    }
    for (const SwitchKey& each : kSwitchKeys) {
        names.push_back(each.name);
    }
    for (const TextKey& each : kTextKeys) {
        names.push_back(each.name);
    }
    return unknown_name("key", key, names);
}

/// Sets a key. Returns what is wrong with its value; an empty text if nothing is.
std::string set_model_key(Model& model, std::string_view key, const toml::node& node) {
    for (const auto& [name, field] : kNumberKeys) {
        if (key == name) {
            const auto* const number = node.as_integer();
            if (number == nullptr || number->get() < 0 || number->get() > kNumberMost) {
                return fmt::format("{} must be a whole number from 0 to {}", key, kNumberMost);
            }
            model.*field = static_cast<std::uint32_t>(number->get());
            return "";
        }
    }
    for (const auto& [name, field] : kSwitchKeys) {
        if (key == name) {
            const auto* const on = node.as_boolean();
            if (on == nullptr) {
                return fmt::format("{} must be true or false", key);
            }
            model.*field = on->get();
            return "";
        }
    }
    for (const auto& [name, field] : kTextKeys) {
        if (key == name) {
            const auto* const text = node.as_string();
            if (text == nullptr || text->get().empty()) {
                return fmt::format("{} must be a text", key);
            }
            model.*field = text->get();
            return "";
        }
    }
    return unknown_model_key(key);
}

/// Adds the keys of one table, with the values of a model.
template <typename Key, std::size_t keys>
void add_keys(const Key (&known)[keys], const Model& model, std::vector<ModelKey>& found) {
    for (const auto& [name, field] : known) {
        found.push_back({name, model.*field});
    }
}

std::unexpected<std::string> model_error(const std::string& file, const toml::source_region& where,
                                         std::string_view message) {
    return std::unexpected(
        fmt::format("{}:{}:{}: {}", file, where.begin.line, where.begin.column, message));
}

}  // namespace

std::vector<ModelKey> keys_of(const Model& model) {
    std::vector<ModelKey> found;
    add_keys(kTextKeys, model, found);
    add_keys(kNumberKeys, model, found);
    add_keys(kSwitchKeys, model, found);
    return found;
}

std::expected<Model, std::string> parse_model(std::string_view text, const std::string& file) {
    toml::table table;
    try {
        table = toml::parse(text, file);
    } catch (const toml::parse_error& error) {
        return model_error(file, error.source(), error.description());
    }
    Model model;
    if (const toml::node* const base = table.get("base")) {
        const auto* const name = base->as_string();
        auto found = plan::find_model(name == nullptr ? "" : name->get());
        if (!found) {
            return model_error(file, base->source(), "base: " + found.error());
        }
        model = *std::move(found);
        model.source = fmt::format("{}, from {}", file, model.name);
        model.title.clear();
    }
    model.name = file;
    for (auto&& [key, node] : table) {
        if (key == "base") {
            continue;
        }
        if (const std::string wrong = set_model_key(model, key.str(), node); !wrong.empty()) {
            return model_error(file, node.source(), wrong);
        }
    }
    if (model.kv_heads == 0) {
        model.kv_heads = model.heads;
    }
    if (model.head_dim == 0 && model.heads != 0) {
        model.head_dim = model.hidden / model.heads;
    }
    if (const auto fault = plan::find_fault(model)) {
        return std::unexpected(fmt::format("{}: {}", file, *fault));
    }
    return model;
}

std::expected<Model, std::string> load_model(const std::string& file) {
    const auto text = read_file(file);
    return text ? parse_model(*text, file) : std::unexpected(text.error());
}

std::expected<Model, std::string> named_model(const std::string& name) {
    if (is_description(name)) {
        return parse_model(name, "a model given as text");
    }
    const bool is_file = name.ends_with(".toml") || name.find('/') != std::string::npos;
    return is_file ? load_model(name) : plan::find_model(name);
}

}  // namespace softib::spec
