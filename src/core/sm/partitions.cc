// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/partitions.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <type_traits>

namespace softib::sm {

namespace {

constexpr std::uint16_t kFullBit = 0x8000;
constexpr std::uint16_t kBaseMask = 0x7FFF;
constexpr std::uint8_t kScopeMax = 15;
constexpr std::uint8_t kSlMax = 15;
constexpr std::uint8_t kMtuMax = 5;
constexpr std::uint8_t kRateMax = 63;
constexpr std::uint32_t kFlowLabelMax = 0xFFFFF;
constexpr std::string_view kBlank = " \t\r\n\f\v";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlank);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string quoted(std::string_view text) {
    return "'" + std::string(text) + "'";
}

/// Reads a number, decimal or hexadecimal with 0x.
std::optional<std::uint64_t> number(std::string_view text) {
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) {
        text.remove_prefix(2);
    }
    std::uint64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    return error == std::errc{} && rest == end && !text.empty() ? std::optional(value)
                                                                : std::nullopt;
}

/// Reads a GID, such as "ff12:401b::16".
std::optional<Gid> parse_gid(std::string_view text) {
    constexpr std::size_t kGroups = 8;
    std::array<std::uint16_t, kGroups> groups{};
    std::size_t count = 0;
    std::size_t gap = kGroups;  // Index of the group after "::"; kGroups if there is no "::".
    if (text.starts_with("::")) {
        gap = 0;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        std::uint16_t value = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value, 16);
        if (error != std::errc{} || count == kGroups) {
            return std::nullopt;
        }
        groups[count++] = value;
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        if (text.empty()) {
            break;
        }
        if (text.starts_with("::")) {
            if (gap != kGroups) {
                return std::nullopt;
            }
            gap = count;
            text.remove_prefix(2);
        } else if (text.front() == ':' && text.size() > 1) {
            text.remove_prefix(1);
        } else {
            return std::nullopt;
        }
    }
    if (gap == kGroups ? count != kGroups : count == kGroups) {
        return std::nullopt;
    }
    Gid gid;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i < gap ? i : kGroups - count + i;
        gid.bytes[2 * at] = static_cast<std::uint8_t>(groups[i] >> 8);
        gid.bytes[2 * at + 1] = static_cast<std::uint8_t>(groups[i]);
    }
    return gid;
}

/// A part of a definition between two separators: "name" or "name=value".
struct Item {
    std::string_view name;
    std::optional<std::string_view> value;  ///< The text after '='; std::nullopt without '='.
    std::size_t line = 0;
};

/// Splits a text into pieces, and knows the line of each.
class PieceReader {
  public:
    explicit PieceReader(std::string_view text) : text_(text) {
        // Comments become blanks, so that the offsets of all else stay.
        bool comment = false;
        for (char& c : text_) {
            comment = c == '#' || (comment && c != '\n');
            if (comment) {
                c = ' ';
            }
        }
    }

    struct Piece {
        std::string_view text;
        std::size_t line;  ///< Line of its first word.
        char end;
    };
    /// Reads the text before the next character of `ends`, and that character; std::nullopt if none
    /// comes.
    std::optional<Piece> until(std::string_view ends) {
        const std::string_view rest = std::string_view(text_).substr(at_);
        const std::size_t cut = rest.find_first_of(ends);
        if (cut == std::string_view::npos) {
            return std::nullopt;
        }
        const Piece piece{trimmed(rest.substr(0, cut)), line(), rest[cut]};
        line_ += lines_in(rest.substr(0, cut + 1));
        at_ += cut + 1;
        return piece;
    }
    bool at_end() const { return text_.find_first_not_of(kBlank, at_) == std::string::npos; }
    /// Returns the line of the text that comes next.
    std::size_t line() const {
        const std::string_view rest = std::string_view(text_).substr(at_);
        return line_ + lines_in(rest.substr(0, rest.find_first_not_of(kBlank)));
    }

  private:
    static std::size_t lines_in(std::string_view text) {
        return static_cast<std::size_t>(std::ranges::count(text, '\n'));
    }

    std::string text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
};

class Parser {
  public:
    explicit Parser(std::string_view text) : reader_(text) {}

    std::expected<std::vector<Partition>, PartitionError> run() {
        while (!reader_.at_end() && !error_) {
            definition();
        }
        if (!error_) {
            give_keys();
        }
        if (error_) {
            return std::unexpected(*error_);
        }
        return std::move(partitions_);
    }

  private:
    void fail(std::size_t line, std::string message) {
        if (!error_) {
            error_ = PartitionError{line, std::move(message)};
        }
    }

    static Item item_of(std::string_view text, std::size_t line) {
        const std::size_t cut = text.find('=');
        if (cut == std::string_view::npos) {
            return {trimmed(text), std::nullopt, line};
        }
        return {trimmed(text.substr(0, cut)), trimmed(text.substr(cut + 1)), line};
    }

    /// Reads a definition: "Name=key, flags : properties ;".
    void definition() {
        const std::size_t begins = reader_.line();
        Partition partition;
        default_membership_ = Membership::kLimited;
        bool first = true;
        while (!error_) {
            const auto piece = reader_.until(",:;");
            if (!piece || piece->end == ';') {
                fail(begins, "this partition has no ':' between its name and its ports");
                return;
            }
            const Item item = item_of(piece->text, piece->line);
            if (first) {
                identity(item, partition);
            } else {
                flag(item, partition);
            }
            first = false;
            if (piece->end == ':') {
                break;
            }
        }
        properties(begins, partition);
        if (!error_) {
            merge(std::move(partition));
        }
    }

    void identity(const Item& item, Partition& partition) {
        std::optional<std::string_view> key = item.value;
        partition.name = item.name;
        // A number alone is the P_Key of a partition without a name.
        if (!key && !item.name.empty() && item.name.front() >= '0' && item.name.front() <= '9') {
            key = item.name;
            partition.name.clear();
        }
        if (!key) {
            if (partition.name == "Default") {
                partition.pkey = kPKeyDefaultLimited;
            }
            return;  // give_keys() finds a P_Key for any other partition.
        }
        const auto value = number(*key);
        if (!value || *value > UINT16_MAX || (*value & kBaseMask) == 0) {
            fail(item.line, quoted(*key) + " is no P_Key: write 0x0001 to 0x7fff");
            return;
        }
        partition.pkey = PKey{static_cast<std::uint16_t>(*value & kBaseMask)};
    }

    void flag(const Item& item, Partition& partition) {
        if (item.name == "indx0" && !item.value) {
            partition.at_index0 = true;
        } else if (item.name == "ipoib" && !item.value) {
            partition.ipoib = true;
        } else if (item.name == "defmember") {
            default_membership_ = membership(item);
        } else if (!trait(item, partition.broadcast)) {
            fail(item.line, quoted(item.name) +
                                " is no flag of a partition: they are indx0, ipoib, defmember=, "
                                "rate=, mtu=, sl=, scope=, Q_Key=, TClass= and FlowLabel=");
        }
    }

    /// Reads "full", "limited" or "both", each of which may be abbreviated.
    Membership membership(const Item& item) {
        const std::string_view word = item.value.value_or("");
        if (!word.empty() && std::string_view("full").starts_with(word)) {
            return Membership::kFull;
        }
        if (!word.empty() && std::string_view("both").starts_with(word)) {
            return Membership::kBoth;
        }
        if (word.empty() || !std::string_view("limited").starts_with(word)) {
            fail(item.line, "membership is full, limited or both, not " + quoted(word));
        }
        return Membership::kLimited;
    }

    template <typename T>
    void store(const Item& item, std::uint64_t max, std::optional<T>& field) {
        const auto value = number(item.value.value_or(""));
        if (!value || *value > max) {
            fail(item.line, quoted(item.name) + " must be a number up to " + std::to_string(max) +
                                ", not " + quoted(item.value.value_or("")));
            return;
        }
        if constexpr (std::is_same_v<T, QKey>) {
            field = QKey{static_cast<std::uint32_t>(*value)};
        } else {
            field = static_cast<T>(*value);
        }
    }

    /// Reads a trait of a multicast group. Returns false if the item is none.
    bool trait(const Item& item, GroupTraits& traits) {
        if (item.name == "rate") {
            store(item, kRateMax, traits.rate);
        } else if (item.name == "mtu") {
            store(item, kMtuMax, traits.mtu);
        } else if (item.name == "sl") {
            store(item, kSlMax, traits.sl);
        } else if (item.name == "scope") {
            std::optional<std::uint8_t> scope;
            store(item, kScopeMax, scope);
            traits.scopes.push_back(scope.value_or(0));
        } else if (item.name == "Q_Key") {
            store(item, UINT32_MAX, traits.qkey);
        } else if (item.name == "TClass") {
            store(item, UINT8_MAX, traits.tclass);
        } else if (item.name == "FlowLabel") {
            store(item, kFlowLabelMax, traits.flow_label);
        } else {
            return false;
        }
        return true;
    }

    /// Reads ports and multicast groups up to ';'. After a group a line break separates as a comma
    /// does.
    void properties(std::size_t begins, Partition& partition) {
        in_group_ = false;
        while (!error_) {
            auto piece = reader_.until(",;\n");
            if (!piece) {
                fail(begins, "this partition has no ';' at its end");
                return;
            }
            // "defmember=full :" may be before the ports instead of before the first colon.
            if (const std::size_t colon = piece->text.find(':');
                piece->text.starts_with("defmember") && colon != std::string_view::npos) {
                flag(item_of(piece->text.substr(0, colon), piece->line), partition);
                piece->text = trimmed(piece->text.substr(colon + 1));
            }
            if (!piece->text.empty()) {
                property(item_of(piece->text, piece->line), partition);
            }
            in_group_ = in_group_ && piece->end == ',';
            if (piece->end == ';') {
                return;
            }
        }
    }

    void property(const Item& item, Partition& partition) {
        if (item.name == "mgid") {
            const auto gid = parse_gid(item.value.value_or(""));
            if (!gid || !gid->is_multicast()) {
                fail(item.line, quoted(item.value.value_or("")) + " is no multicast GID");
                return;
            }
            partition.groups.push_back({*gid, {}});
            in_group_ = true;
            return;
        }
        if (in_group_ && trait(item, partition.groups.back().traits)) {
            return;
        }
        in_group_ = false;
        member(item, partition);
    }

    void member(const Item& item, Partition& partition) {
        struct Keyword {
            std::string_view text;
            PartitionMember::Who who;
        };
        static constexpr Keyword kKeywords[] = {{"ALL", PartitionMember::kAll},
                                                {"ALL_CAS", PartitionMember::kAllAdapters},
                                                {"ALL_SWITCHES", PartitionMember::kAllSwitches},
                                                {"ALL_ROUTERS", PartitionMember::kAllRouters},
                                                {"SELF", PartitionMember::kSelf}};
        PartitionMember member;
        const auto* const keyword = std::ranges::find(kKeywords, item.name, &Keyword::text);
        if (keyword != std::end(kKeywords)) {
            member.who = keyword->who;
        } else if (const auto guid = number(item.name); guid && *guid != 0) {
            member.guid = Guid{*guid};
        } else {
            fail(item.line, quoted(item.name) +
                                " is no port: write a port GUID as 0x..., ALL, ALL_CAS, "
                                "ALL_SWITCHES, ALL_ROUTERS or SELF");
            return;
        }
        // "GUID=" means the same as "GUID".
        const bool given = item.value && !item.value->empty();
        member.membership = given ? membership(item) : default_membership_;
        partition.members.push_back(member);
    }

    void merge(Partition partition) {
        const auto same = std::ranges::find_if(partitions_, [&](const Partition& other) {
            return partition.pkey != PKey{0} && other.pkey == partition.pkey;
        });
        if (same == partitions_.end()) {
            partitions_.push_back(std::move(partition));
            return;
        }
        same->at_index0 = same->at_index0 || partition.at_index0;
        if (partition.ipoib && !same->ipoib) {
            same->ipoib = true;
            same->broadcast = std::move(partition.broadcast);
        }
        same->members.insert(same->members.end(), partition.members.begin(),
                             partition.members.end());
        std::ranges::move(partition.groups, std::back_inserter(same->groups));
    }

    /// Gives each partition without a P_Key the lowest one that is free.
    void give_keys() {
        std::vector<bool> used(kBaseMask + std::size_t{1});
        used[0] = used[kPKeyDefaultLimited.value] = true;
        for (const Partition& partition : partitions_) {
            used[partition.pkey.value] = true;
        }
        for (Partition& partition : partitions_) {
            if (partition.pkey != PKey{0}) {
                continue;
            }
            const auto free = std::ranges::find(used, false);
            if (free == used.end()) {
                fail(1, "there are more partitions than P_Keys");
                return;
            }
            *free = true;
            partition.pkey = PKey{static_cast<std::uint16_t>(free - used.begin())};
        }
    }

    PieceReader reader_;
    std::vector<Partition> partitions_;
    std::optional<PartitionError> error_;
    Membership default_membership_ = Membership::kLimited;
    bool in_group_ = false;  ///< Whether the next item may be a trait of the last group.
};

bool names(const PartitionMember& member, const PartitionPort& port) {
    switch (member.who) {
        case PartitionMember::kPort:
            return member.guid == port.guid;
        case PartitionMember::kAll:
            return true;
        case PartitionMember::kAllAdapters:
            return port.type == wire::NodeType::kChannelAdapter;
        case PartitionMember::kAllSwitches:
            return port.type == wire::NodeType::kSwitch;
        case PartitionMember::kAllRouters:
            return port.type == wire::NodeType::kRouter;
        case PartitionMember::kSelf:
            return port.is_manager;
    }
    return false;
}

}  // namespace

std::expected<std::vector<Partition>, PartitionError> parse_partitions(std::string_view text) {
    return Parser(text).run();
}

std::vector<PKey> keys_of(const std::vector<Partition>& partitions, const PartitionPort& port) {
    std::vector<PKey> keys;
    std::size_t first = SIZE_MAX;  // The partition whose P_Key goes to index 0.
    const auto add = [&](PKey base, Membership membership, bool at_index0) {
        if (at_index0 || (base == kPKeyDefaultLimited && first == SIZE_MAX)) {
            first = keys.size();
        }
        if (membership != Membership::kLimited) {
            keys.push_back(PKey{static_cast<std::uint16_t>(base.value | kFullBit)});
        }
        if (membership != Membership::kFull) {
            keys.push_back(base);
        }
    };
    bool has_default = false;
    bool index0_taken = false;
    for (const Partition& partition : partitions) {
        const bool is_default = partition.pkey == kPKeyDefaultLimited;
        has_default = has_default || is_default;
        std::optional<Membership> membership;
        for (const PartitionMember& member : partition.members) {
            if (names(member, port)) {
                membership = member.membership;
            }
        }
        if (is_default && port.is_manager && membership != Membership::kBoth) {
            membership = Membership::kFull;
        }
        if (membership) {
            const bool at_index0 = partition.at_index0 && !index0_taken;
            index0_taken = index0_taken || at_index0;
            add(partition.pkey, *membership, at_index0);
        }
    }
    if (!has_default) {
        add(kPKeyDefaultLimited, port.is_manager ? Membership::kFull : Membership::kLimited, false);
    }
    if (first != SIZE_MAX) {
        const auto begin = keys.begin() + static_cast<std::ptrdiff_t>(first);
        std::rotate(keys.begin(), begin, begin + 1);
    }
    return keys;
}

std::vector<PKey> place_keys(std::span<const PKey> before, std::span<const PKey> keys,
                             std::size_t capacity) {
    std::vector<PKey> table(capacity);
    std::vector<PKey> homeless;
    const auto same_partition = [](PKey a, PKey b) {
        return ((a.value ^ b.value) & kBaseMask) == 0;
    };
    const auto put = [&](PKey key, auto&& fits) {
        for (std::size_t i = 1; i < capacity && i < before.size(); ++i) {
            if (table[i] == PKey{0} && fits(before[i])) {
                table[i] = key;
                return true;
            }
        }
        return false;
    };
    if (capacity == 0 || keys.empty()) {
        return table;
    }
    table[0] = keys[0];
    // First the P_Keys that are in the table already, since a partition may be there twice: as full
    // and as limited member.
    std::vector<PKey> moved;
    for (const PKey key : keys.subspan(1)) {
        if (!put(key, [key](PKey old) { return old == key; })) {
            moved.push_back(key);
        }
    }
    for (const PKey key : moved) {
        if (!put(key, [&](PKey old) { return same_partition(old, key); })) {
            homeless.push_back(key);
        }
    }
    auto next = table.begin();
    for (const PKey key : homeless) {
        next = std::find(next, table.end(), PKey{0});
        if (next == table.end()) {
            break;
        }
        *next = key;
    }
    return table;
}

}  // namespace softib::sm
