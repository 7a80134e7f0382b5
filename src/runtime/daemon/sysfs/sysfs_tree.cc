// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sysfs/sysfs_tree.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "core/base/ids.h"
#include "core/counters/port_counters.h"
#include "core/topo/graph.h"
#include "runtime/shm/counters.h"
#include "runtime/shm/identity.h"
#include "runtime/shm/naming.h"

namespace softib::daemon::sysfs {

namespace {

constexpr unsigned kBusesPerDomain = 255;

// ---- Content of the PCI directory ----

topo::Generation generation_of(const Device& d) {
    return static_cast<topo::Generation>(d.record().generation);
}

/// The speed of a PCI Express link of 16 lanes that suffices for the port's rate.
std::string pci_link_speed(const Device& d, unsigned) {
    return std::string(topo::row_of(generation_of(d)).pcie_speed) + "\n";
}

std::size_t cpu_count() {
    const long count = sysconf(_SC_NPROCESSORS_CONF);
    return count > 0 ? static_cast<std::size_t>(count) : 1;
}

/// The mask of local CPUs, which are all: groups of 32 bits, the highest first.
std::string local_cpus(const Device&, unsigned) {
    const std::size_t cpus = cpu_count();
    const std::size_t rest = cpus % 32;
    std::string text;
    if (rest != 0) {
        text = fmt::format("{:08x}", (1U << rest) - 1);
    }
    for (std::size_t group = 0; group < cpus / 32; ++group) {
        text += text.empty() ? "ffffffff" : ",ffffffff";
    }
    return text + "\n";
}

std::string modalias(const Device&, unsigned) {
    return fmt::format("pci:v0000{0:04X}d0000{1:04X}sv0000{0:04X}sd0000{1:04X}bc02sc07i00\n",
                       shm::kPciVendor, shm::kPciDevice);
}

std::string pci_uevent(const Device& d, unsigned) {
    return fmt::format(
        "{}PCI_CLASS=20700\nPCI_ID={:04X}:{:04X}\nPCI_SUBSYS_ID={:04X}:{:04X}\n"
        "PCI_SLOT_NAME={}\nMODALIAS={}",
        d.looks_like_mlx5() ? "DRIVER=mlx5_core\n" : "", shm::kPciVendor, shm::kPciDevice,
        shm::kPciVendor, shm::kPciDevice, d.slot, modalias(d, 0));
}

std::string pci_vendor(const Device&, unsigned) {
    return fmt::format("0x{:04x}\n", shm::kPciVendor);
}
std::string pci_device(const Device&, unsigned) {
    return fmt::format("0x{:04x}\n", shm::kPciDevice);
}

constexpr FileSpec kPciFiles[] = {
    {"vendor", pci_vendor},
    {"device", pci_device},
    {"subsystem_vendor", pci_vendor},
    {"subsystem_device", pci_device},
    {"class", [](const Device&, unsigned) -> std::string { return "0x020700\n"; }},
    {"revision", [](const Device&, unsigned) -> std::string { return "0x00\n"; }},
    {"irq", [](const Device&, unsigned) -> std::string { return "0\n"; }},
    {"enable", [](const Device&, unsigned) -> std::string { return "1\n"; }},
    {"numa_node", [](const Device&, unsigned) -> std::string { return "-1\n"; }},
    {"local_cpus", local_cpus},
    {"local_cpulist",
     [](const Device&, unsigned) {
         const std::size_t cpus = cpu_count();
         return cpus == 1 ? std::string{"0\n"} : fmt::format("0-{}\n", cpus - 1);
     }},
    {"current_link_speed", pci_link_speed},
    {"max_link_speed", pci_link_speed},
    {"current_link_width", [](const Device&, unsigned) -> std::string { return "16\n"; }},
    {"max_link_width", [](const Device&, unsigned) -> std::string { return "16\n"; }},
    {"modalias", modalias},
    {"uevent", pci_uevent},
};

// ---- Content of the InfiniBand device and its port ----

constexpr FileSpec kDeviceFiles[] = {
    {"node_type", [](const Device&, unsigned) -> std::string { return "1: CA\n"; }},
    {"node_guid",
     [](const Device& d, unsigned) { return to_string_colons(Guid{d.record().node_guid}) + "\n"; }},
    {"sys_image_guid",
     [](const Device& d, unsigned) {
         return to_string_colons(Guid{d.record().system_image_guid}) + "\n";
     }},
    {"node_desc",
     [](const Device& d, unsigned) {
         return fmt::format("{} {}\n", d.arena->hosts[d.record().host].name, d.record().name);
     }},
    {"fw_ver", [](const Device&, unsigned) { return std::string{shm::kFirmwareVersion} + "\n"; }},
    {"hw_rev",
     [](const Device&, unsigned) { return fmt::format("{:x}\n", shm::kHardwareRevision); }},
    {"hca_type", [](const Device&, unsigned) { return std::string{shm::kHcaType} + "\n"; }},
    {"board_id", [](const Device&, unsigned) { return std::string{shm::kBoardId} + "\n"; }},
    {"uevent", [](const Device& d, unsigned) { return fmt::format("NAME={}\n", d.name); }},
};

std::string port_state(const Device& d, unsigned) {
    switch (d.record().state.load(std::memory_order_relaxed)) {
        case PortState::kNoChange:
            return "0: NOP\n";
        case PortState::kDown:
            return "1: DOWN\n";
        case PortState::kInit:
            return "2: INIT\n";
        case PortState::kArmed:
            return "3: ARMED\n";
        case PortState::kActive:
            return "4: ACTIVE\n";
        case PortState::kActiveDefer:
            return "5: ACTIVE_DEFER\n";
    }
    return "0: NOP\n";
}

std::string port_phys_state(const Device& d, unsigned) {
    const PortState state = d.record().state.load(std::memory_order_relaxed);
    return state >= PortState::kInit ? "5: LinkUp\n" : "2: Polling\n";
}

std::string port_rate(const Device& d, unsigned) {
    // A link that is down is reported with the slowest speed, with which training begins.
    const bool up = d.record().state.load(std::memory_order_relaxed) >= PortState::kInit;
    const topo::LinkSpeed speed = topo::link_speed(up ? generation_of(d) : topo::Generation::kSdr);
    return fmt::format("{} Gb/sec (4X {})\n", speed.gbps, speed.name);
}

std::string port_gid(const Device& d, unsigned index) {
    return to_string(gid_at(d.record(), index)) + "\n";
}

/// The network interface of a GID. GIDs of InfiniBand ports have none.
std::string gid_net_device(const Device& d, unsigned index) {
    const bool has_one = d.is_ethernet() && gid_at(d.record(), index) != Gid{};
    return has_one ? fmt::format("{}\n", d.record().net_name) : kNotReadable;
}

std::string gid_type(const Device& d, unsigned index) {
    if (gid_at(d.record(), index) == Gid{}) {
        return kNotReadable;
    }
    return d.is_ethernet() ? "RoCE v2\n" : "IB/RoCE v1\n";
}

std::string port_pkey(const Device& d, unsigned index) {
    return fmt::format("0x{:04x}\n", d.record().pkeys[index].load(std::memory_order_relaxed));
}

constexpr FileSpec kPortFiles[] = {
    {"state", port_state},
    {"phys_state", port_phys_state},
    {"rate", port_rate},
    {"lid",
     [](const Device& d, unsigned) {
         return fmt::format("0x{:x}\n", d.record().lid.load(std::memory_order_relaxed));
     }},
    {"lid_mask_count",
     [](const Device& d, unsigned) { return fmt::format("{}\n", d.record().lmc); }},
    {"sm_lid",
     [](const Device& d, unsigned) { return fmt::format("0x{:x}\n", d.record().sm_lid); }},
    {"sm_sl", [](const Device& d, unsigned) { return fmt::format("{}\n", d.record().sm_sl); }},
    {"cap_mask", [](const Device& d,
                    unsigned) { return fmt::format("0x{:08x}\n", d.record().capability_mask); }},
    {"link_layer",
     [](const Device& d, unsigned) -> std::string {
         return d.is_ethernet() ? "Ethernet\n" : "InfiniBand\n";
     }},
};

// ---- Counters ----

/// The value of a counter; `row` is its row in counters::kPortCounters.
std::string counter(const Device& d, unsigned row) {
    return fmt::format("{}\n", counters::value_of(counters::kPortCounters[row],
                                                  read_port_counters(*d.arena, d.hca)));
}

/// The value of a counter of errors that cannot happen here or are not counted.
std::string never(const Device&, unsigned) {
    return "0\n";
}

constexpr FileSpec kHwCountersNeverCounted[] = {
    {"out_of_sequence", never},
    {"duplicate_request", never},
    {"packet_seq_err", never},
    {"implied_nak_seq_err", never},
};

// ---- The tree ----

void add_files(std::vector<Entry>& out, std::string_view dir, std::span<const FileSpec> files) {
    for (const FileSpec& file : files) {
        out.push_back(
            {.kind = Kind::kFile, .path = fmt::format("{}{}", dir, file.name), .make = file.make});
    }
}

void add_counters(std::vector<Entry>& out, std::string_view dir,
                  counters::SysfsDirectory directory) {
    for (unsigned row = 0; row < counters::kPortCounters.size(); ++row) {
        if (counters::kPortCounters[row].sysfs_directory == directory) {
            out.push_back(
                {.kind = Kind::kFile,
                 .path = fmt::format("{}{}", dir, counters::kPortCounters[row].sysfs_file),
                 .make = counter,
                 .arg = row});
        }
    }
}

void add_numbered(std::vector<Entry>& out, std::string_view dir, unsigned count, Maker make) {
    out.push_back({.kind = Kind::kDirectory, .path = std::string{dir}});
    for (unsigned i = 0; i < count; ++i) {
        out.push_back(
            {.kind = Kind::kFile, .path = fmt::format("{}/{}", dir, i), .make = make, .arg = i});
    }
}

/// Adds a character device of a class: uverbsN, umadN or issmN.
void add_node_class(std::vector<Entry>& out, const Device& d, std::string_view class_name,
                    std::string_view node) {
    const std::string dir = fmt::format("{}/{}{}", class_name, node, d.number);
    out.push_back({.kind = Kind::kDirectory, .path = std::string{class_name}});
    out.push_back({.kind = Kind::kDirectory, .path = dir});
    out.push_back({.kind = Kind::kLink, .path = dir + "/device", .target = "../../../" + d.slot});
    out.push_back({.kind = Kind::kLink,
                   .path = dir + "/subsystem",
                   .target = fmt::format("../../../../../class/{}", class_name)});
    static constexpr FileSpec kFiles[] = {
        {"/ibdev", [](const Device& dev, unsigned) { return dev.name + "\n"; }},
        // The file in /dev is the null device, whose number this is.
        {"/dev", [](const Device&, unsigned) -> std::string { return "1:3\n"; }},
    };
    add_files(out, dir, kFiles);
    if (class_name == "infiniband_verbs") {
        static constexpr FileSpec kAbi[] = {
            {"/abi_version", [](const Device&, unsigned) -> std::string { return "1\n"; }}};
        add_files(out, dir, kAbi);
    } else {
        static constexpr FileSpec kPort[] = {
            {"/port", [](const Device&, unsigned) -> std::string { return "1\n"; }}};
        add_files(out, dir, kPort);
    }
}

void add_port(std::vector<Entry>& out, const std::string& ports_dir) {
    const std::string port = ports_dir + "/1";
    out.push_back({.kind = Kind::kDirectory, .path = ports_dir});
    out.push_back({.kind = Kind::kDirectory, .path = port});
    add_files(out, port + "/", kPortFiles);
    add_numbered(out, port + "/gids", shm::kGidsPerPort, port_gid);
    add_numbered(out, port + "/pkeys", shm::kPKeysPerPort, port_pkey);
    out.push_back({.kind = Kind::kDirectory, .path = port + "/gid_attrs"});
    add_numbered(out, port + "/gid_attrs/ndevs", shm::kGidsPerPort, gid_net_device);
    add_numbered(out, port + "/gid_attrs/types", shm::kGidsPerPort, gid_type);
    out.push_back({.kind = Kind::kDirectory, .path = port + "/counters"});
    add_counters(out, port + "/counters/", counters::SysfsDirectory::kCounters);
    out.push_back({.kind = Kind::kDirectory, .path = port + "/hw_counters"});
    add_counters(out, port + "/hw_counters/", counters::SysfsDirectory::kHwCounters);
    add_files(out, port + "/hw_counters/", kHwCountersNeverCounted);
}

constexpr FileSpec kGlobalFiles[] = {
    {"/sys/class/infiniband_verbs/abi_version",
     [](const Device&, unsigned) -> std::string { return "6\n"; }},
    {"/sys/class/infiniband_mad/abi_version",
     [](const Device&, unsigned) -> std::string { return "5\n"; }},
    // The preloaded library shows it only to programs that see the virtual host's name (abi/sysfs).
    {"/proc/sys/kernel/hostname",
     [](const Device& d, unsigned) {
         return fmt::format("{}\n", d.arena->hosts[d.record().host].name);
     }},
    // Programs conclude from this file that an HCA can reach GPU memory. The preloaded library
    // shows it only to programs that have loaded a GPU driver (abi/sysfs).
    {"/sys/module/nvidia_peermem/version",
     [](const Device&, unsigned) { return std::string{shm::kFirmwareVersion} + "\n"; }},
};
constexpr std::size_t kGpuFiles = 1;  ///< How many at the end of kGlobalFiles are about GPUs.

}  // namespace

std::vector<Device> devices_of(const shm::Arena& arena, std::string_view host) {
    std::vector<shm::DeviceEntry> entries(list_devices(arena, host, {}));
    list_devices(arena, host, entries);
    std::vector<Device> devices;
    devices.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        devices.push_back({.arena = &arena,
                           .hca = entries[i].hca,
                           .number = i,
                           .name = entries[i].name,
                           .slot = fmt::format("f1b0:{:02x}:{:02x}.0", i % kBusesPerDomain + 1,
                                               i / kBusesPerDomain)});
    }
    return devices;
}

std::vector<Entry> device_entries(const Device& d) {
    std::vector<Entry> out;
    out.reserve(160);
    add_files(out, "", kPciFiles);
    out.push_back({.kind = Kind::kLink, .path = "subsystem", .target = "../../../bus/pci"});
    if (d.looks_like_mlx5()) {
        // Open MPI prefers UCX only if the driver's name begins with mlx.
        out.push_back({.kind = Kind::kLink,
                       .path = "driver",
                       .target = "../../../bus/pci/drivers/mlx5_core"});
    }
    // A network interface, by which programs (tests of rdma_cm) find an IP address.
    out.push_back({.kind = Kind::kDirectory, .path = "net"});
    out.push_back({.kind = Kind::kDirectory, .path = "net/lo"});
    const std::string dir = "infiniband/" + d.name;
    out.push_back({.kind = Kind::kDirectory, .path = "infiniband"});
    out.push_back({.kind = Kind::kDirectory, .path = dir});
    add_files(out, dir + "/", kDeviceFiles);
    out.push_back({.kind = Kind::kLink, .path = dir + "/device", .target = "../../../" + d.slot});
    out.push_back({.kind = Kind::kLink,
                   .path = dir + "/subsystem",
                   .target = "../../../../../class/infiniband"});
    add_port(out, dir + "/ports");
    add_node_class(out, d, "infiniband_verbs", "uverbs");
    add_node_class(out, d, "infiniband_mad", "umad");
    add_node_class(out, d, "infiniband_mad", "issm");
    return out;
}

std::vector<Entry> links_to(const Device& d) {
    const std::string up = fmt::format("../../devices/pcif1b0:00/{}", d.slot);
    std::vector<Entry> out;
    const auto link = [&out](std::string path, std::string target) {
        out.push_back({.kind = Kind::kLink, .path = std::move(path), .target = std::move(target)});
    };
    link("/sys/class/infiniband/" + d.name, fmt::format("{}/infiniband/{}", up, d.name));
    link("/sys/bus/pci/devices/" + d.slot, "../" + up);
    for (const char* node : {"uverbs", "umad", "issm"}) {
        const std::string class_name =
            std::string_view{node} == "uverbs" ? "infiniband_verbs" : "infiniband_mad";
        link(fmt::format("/sys/class/{}/{}{}", class_name, node, d.number),
             fmt::format("{}/{}/{}{}", up, class_name, node, d.number));
        // Programs check that it is a character device which they may read and write.
        link(fmt::format("/dev/infiniband/{}{}", node, d.number), "/dev/null");
    }
    return out;
}

std::span<const FileSpec> global_files(const shm::Arena& arena) {
    const std::span<const FileSpec> all = kGlobalFiles;
    return arena.header->data_path == DataPath::kDirect ? all : all.first(all.size() - kGpuFiles);
}

}  // namespace softib::daemon::sysfs
