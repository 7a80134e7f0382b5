// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The table of keys with which a user describes a fabric, in a file or by flags. A key is one entry
// of one group; the groups are in keys_*.cc.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/topo/spec.h"
#include "spec/description.h"
#include "spec/value.h"

namespace softib::spec {

/// How a flag's text is read.
enum class Form { kText, kNumber, kSwitch };

/// What a key is about: the fabric that is generated, our subnet manager, or neither.
enum class About { kShape, kManager, kOther };

/// Where a key acts on a running fabric.
struct Live {
    /// Returns whether it acts beside the rest of the description; nullptr: it always does.
    bool (*acts)(const Description&) = nullptr;
    std::string_view needs{};  ///< What must be there, as the rest of "it needs ...".
};

struct KeyRule {
    ConfigKey key;
    Form form;
    /// Checks the value and writes it into the description. An error continues the key's name:
    /// "must be ...".
    Result (*set)(Description&, const Value&);
    About about = About::kShape;
    /// Whether a key that is not about the shape decides something in virtual time too.
    bool simulated = false;
    Live live{};
};

// The groups of keys, each in the order in which help shows them.
std::span<const KeyRule> name_keys();   ///< Keys of the fabric's name and of the file that has it.
std::span<const KeyRule> shape_keys();  ///< Keys of the shape that is generated.
/// Keys of how the fabric runs: memory, data path, link layer, trunks.
std::span<const KeyRule> runtime_keys();
std::span<const KeyRule> manager_keys();  ///< Keys of the choice and settings of subnet managers.

/// Returns all groups, one after the other.
const std::vector<KeyRule>& key_rules();

/// Returns the rule of a key, in which '-' is read as '_'; nullptr if there is no such key.
const KeyRule* find_rule(std::string_view name);

/// Returns an error that names the nearest key, or all keys.
std::string unknown_key(std::string_view name);
/// Returns an error that names the keys that may stand below [sm].
std::string unknown_manager_key(std::string_view name);

/// Returns the part of a description that has a member of `Owner`.
template <typename Owner>
Owner& part_of(Description& description);
template <>
inline Description& part_of(Description& description) {
    return description;
}
template <>
inline topo::Spec& part_of(Description& description) {
    return description.spec;
}
template <>
inline EthernetPlan& part_of(Description& description) {
    return description.ethernet;
}
template <>
inline sm::QosConfig& part_of(Description& description) {
    return description.qos;
}

/// The class and the type of a pointer to a member.
template <typename Field>
struct MemberOf;
template <typename Owner, typename Type>
struct MemberOf<Type Owner::*> {
    using OwnerType = Owner;
    using FieldType = Type;
};

/// Returns the field of a description; `kField` is a pointer to a member of Description or of one
/// of its parts.
template <auto kField>
auto& field_of(Description& description) {
    return part_of<typename MemberOf<decltype(kField)>::OwnerType>(description).*kField;
}

/// Sets a field to a whole number from kLeast to kMost.
template <auto kField, std::int64_t kLeast, std::int64_t kMost>
Result set_number(Description& description, const Value& value) {
    const auto number = take_number(value, kLeast, kMost);
    if (!number) {
        return std::unexpected(number.error());
    }
    using Type = typename MemberOf<decltype(kField)>::FieldType;
    field_of<kField>(description) = static_cast<Type>(*number);
    return {};
}

/// Sets a field to a text, which may be empty.
template <auto kField>
Result set_text(Description& description, const Value& value) {
    auto text = take_text(value, "a text");
    if (!text) {
        return std::unexpected(text.error());
    }
    field_of<kField>(description) = std::move(*text);
    return {};
}

/// Sets a field to a text of at least one character.
template <auto kField>
Result set_some_text(Description& description, const Value& value) {
    auto text = take_some_text(value, "a text");
    if (!text) {
        return std::unexpected(text.error());
    }
    field_of<kField>(description) = std::move(*text);
    return {};
}

/// Sets a field to the name of a file.
template <auto kField>
Result set_file(Description& description, const Value& value) {
    auto text = take_some_text(value, "the name of a file");
    if (!text) {
        return std::unexpected(text.error());
    }
    field_of<kField>(description) = std::move(*text);
    return {};
}

}  // namespace softib::spec
