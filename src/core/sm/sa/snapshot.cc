// SPDX-License-Identifier: BSD-2-Clause
// The snapshot of an SA: the data that only this SA has, so that another SA can take over.
//
//     "softibSA", version (4 bytes), then four lists: a count (4 bytes) and that many entries.
//     group:        MCMemberRecord, creator GID, permanent (1), members (4) times
//                   GID, JoinState (1), proxy (1)
//     service:      ServiceRecord, owner GUID, nanoseconds left (8; all ones: forever)
//     subscription: port GUID, GID, QP (4), Enum (2), trusted (1), InformInfo
//     aliases:      port GUID, GUIDs (4) times GUID
//
// Numbers are in network order, records as on the wire.
#include <algorithm>
#include <string_view>

#include "core/sm/sa/subnet_admin.h"
#include "core/wire/format/bytes.h"

namespace softib::sm {

namespace {

constexpr std::string_view kMagic = "softibSA";
constexpr std::uint32_t kVersion = 1;

class Writer {
  public:
    template <std::unsigned_integral T>
    void number(T value) {
        wire::store_be(grow(sizeof(T)), value);
    }
    void text(std::string_view text) { std::ranges::copy(text, grow(text.size())); }
    void gid(const Gid& gid) { std::ranges::copy(gid.bytes, grow(gid.bytes.size())); }
    template <wire::Attribute T>
    void record(const T& record) {
        wire::emit(record, std::span<std::uint8_t>(grow(T::kBytes), T::kBytes));
    }
    void count(std::size_t count) { number(static_cast<std::uint32_t>(count)); }
    std::vector<std::uint8_t> take() { return std::move(bytes_); }

  private:
    std::uint8_t* grow(std::size_t bytes) {
        bytes_.resize(bytes_.size() + bytes);
        return bytes_.data() + bytes_.size() - bytes;
    }
    std::vector<std::uint8_t> bytes_;
};

/// Reads the bytes of a snapshot. Beyond their end all that is read is zero, and ok() is false.
class Reader {
  public:
    explicit Reader(std::span<const std::uint8_t> bytes) : rest_(bytes) {}

    bool ok() const { return ok_; }
    bool at_end() const { return rest_.empty(); }
    template <std::unsigned_integral T>
    T number() {
        const auto bytes = take(sizeof(T));
        return bytes.empty() ? T{0} : wire::load_be<T>(bytes.data());
    }
    Gid gid() {
        Gid gid;
        std::ranges::copy(take(gid.bytes.size()), gid.bytes.begin());
        return gid;
    }
    template <wire::Attribute T>
    T record() {
        return wire::parse<T>(take(T::kBytes)).value_or(T{});
    }
    bool text(std::string_view expected) {
        return std::ranges::equal(take(expected.size()), expected, [](std::uint8_t a, char b) {
            return a == static_cast<unsigned char>(b);
        });
    }
    /// Reads the count of a list whose entries have at least `entry_bytes` bytes. A count that the
    /// bytes left cannot hold is an error.
    std::uint32_t count(std::size_t entry_bytes) {
        const auto count = number<std::uint32_t>();
        ok_ = ok_ && count <= rest_.size() / entry_bytes;
        return ok_ ? count : 0;
    }

  private:
    std::span<const std::uint8_t> take(std::size_t bytes) {
        if (bytes > rest_.size()) {
            ok_ = false;
            rest_ = {};
            return {};
        }
        const auto taken = rest_.first(bytes);
        rest_ = rest_.subspan(bytes);
        return taken;
    }
    std::span<const std::uint8_t> rest_;
    bool ok_ = true;
};

void write_group(Writer& out, const SaMulticast::Group& group) {
    out.record(group.common);
    out.gid(group.creator);
    out.number(std::uint8_t{group.permanent});
    out.count(group.members.size());
    for (const auto& [gid, member] : group.members) {
        out.gid(gid);
        out.number(member.join_state);
        out.number(std::uint8_t{member.proxy});
    }
}

SaMulticast::Group read_group(Reader& in) {
    SaMulticast::Group group;
    group.common = in.record<wire::McMemberRecord>();
    group.creator = in.gid();
    group.permanent = in.number<std::uint8_t>() != 0;
    for (std::uint32_t left = in.count(18); left > 0; --left) {
        SaMulticast::Member& member = group.members[in.gid()];
        member.join_state = in.number<std::uint8_t>() & 0xF;
        member.proxy = in.number<std::uint8_t>() != 0;
    }
    return group;
}

SaServices::Service read_service(Reader& in, std::uint64_t now_ns) {
    SaServices::Service service{.record = in.record<wire::ServiceRecord>()};
    service.owner = Guid{in.number<std::uint64_t>()};
    const auto left_ns = in.number<std::uint64_t>();
    service.expires_ns =
        left_ns > SaServices::kNever - now_ns ? SaServices::kNever : now_ns + left_ns;
    return service;
}

SaSubscriptions::Subscription read_subscription(Reader& in) {
    SaSubscriptions::Subscription subscription;
    subscription.port = Guid{in.number<std::uint64_t>()};
    subscription.gid = in.gid();
    subscription.qp = Qpn{in.number<std::uint32_t>()};
    subscription.enumeration = in.number<std::uint16_t>();
    subscription.trusted = in.number<std::uint8_t>() != 0;
    subscription.info = in.record<wire::InformInfo>();
    return subscription;
}

}  // namespace

std::vector<std::uint8_t> SubnetAdmin::snapshot(std::uint64_t now_ns) const {
    Writer out;
    out.text(kMagic);
    out.number(kVersion);
    out.count(multicast_.groups().size());
    for (const auto& [mgid, group] : multicast_.groups()) {
        write_group(out, group);
    }
    out.count(services_.all().size());
    for (const auto& [key, service] : services_.all()) {
        out.record(service.record);
        out.number(service.owner.value);
        const bool forever = service.expires_ns == SaServices::kNever;
        out.number(forever ? SaServices::kNever
                           : service.expires_ns - std::min(now_ns, service.expires_ns));
    }
    out.count(subscriptions_.count());
    for (const auto& [port, subscriptions] : subscriptions_.all()) {
        for (const SaSubscriptions::Subscription& subscription : subscriptions) {
            out.number(subscription.port.value);
            out.gid(subscription.gid);
            out.number(subscription.qp.value);
            out.number(subscription.enumeration);
            out.number(std::uint8_t{subscription.trusted});
            out.record(subscription.info);
        }
    }
    out.count(guids_.all().size());
    for (const auto& [port, aliases] : guids_.all()) {
        out.number(port.value);
        out.count(aliases.size());
        for (const Guid alias : aliases) {
            out.number(alias.value);
        }
    }
    return out.take();
}

std::expected<void, std::string> SubnetAdmin::restore(std::span<const std::uint8_t> snapshot,
                                                      std::uint64_t now_ns) {
    Reader in(snapshot);
    if (!in.text(kMagic)) {
        return std::unexpected("not a snapshot of a subnet administration");
    }
    if (in.number<std::uint32_t>() != kVersion) {
        return std::unexpected(
            "the snapshot is of another version: use the same release at both ends");
    }
    SaMulticast multicast([this](const Gid& gid) { return port_of(gid); }, config_.multicast);
    SaServices services(services_.find_port(), config_.services);
    SaSubscriptions subscriptions(config_.subscriptions);
    SaGuids guids;
    for (std::uint32_t left = in.count(wire::McMemberRecord::kBytes + 21); left > 0; --left) {
        multicast.restore(read_group(in));
    }
    for (std::uint32_t left = in.count(wire::ServiceRecord::kBytes + 16); left > 0; --left) {
        services.restore(read_service(in, now_ns));
    }
    for (std::uint32_t left = in.count(wire::InformInfo::kBytes + 31); left > 0; --left) {
        subscriptions.restore(read_subscription(in));
    }
    for (std::uint32_t left = in.count(12); left > 0; --left) {
        const Guid port{in.number<std::uint64_t>()};
        SaGuids::Aliases aliases(in.count(8));
        for (Guid& alias : aliases) {
            alias = Guid{in.number<std::uint64_t>()};
        }
        guids.restore(port, std::move(aliases));
    }
    if (!in.ok() || !in.at_end()) {
        return std::unexpected("the snapshot is cut short or has too much at its end");
    }
    ++revision_;
    multicast_ = std::move(multicast);
    services_ = std::move(services);
    subscriptions_ = std::move(subscriptions);
    guids_ = std::move(guids);
    // Subscribers are not told of restored groups, but the manager must write the trees of all.
    while (const auto event = multicast_.poll_event()) {
        changed_mlids_.insert(event->mlid);
    }
    return {};
}

}  // namespace softib::sm
