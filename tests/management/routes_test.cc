// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/routes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/routing/verifier.h"
#include "core/topo/spec.h"
#include "runtime/daemon/builder.h"
#include "runtime/daemon/management.h"
#include "runtime/shm/test_arena.h"
#include "view/routes.h"

namespace softib::daemon {
namespace {

/// A fabric with our manager, brought up.
class Managed {
  public:
    Managed(const topo::Spec& spec, const char* engine)
        : fabric(topo::generate(spec).value()),
          arena(build_arena(fabric, {.arena_bytes = shm::kTestArenaBytes})) {
        events.init("", &arena);
        ManagementOptions options;
        options.manager.engine = engine;
        management.emplace(arena, events, fabric, options);
        management->start(1);
    }
    ~Managed() {
        management.reset();
        shm::arena_unmap(arena);
    }
    shm::RouteFile collect() {
        return collect_routes(management->mesh(), management->switch_nodes(),
                              management->manager());
    }
    /// Returns the routes as a command gets them, through the file.
    view::Routes routes() {
        const int fd = shm::write_routes(collect());
        auto file = shm::read_routes(fd);
        close(fd);
        return view::join_routes(arena, std::move(file.value())).value();
    }
    routing::Report verify() {
        const view::Routes now = routes();
        return routing::verify(now.graph, now.tables, {.shifts_max = 0, .shift_samples = 0});
    }

    topo::Fabric fabric;
    shm::Arena arena;
    shm::ChannelWriter events;
    std::optional<Management> management;
};

topo::Spec torus() {
    return {.shape = topo::Shape::kTorus, .hosts = 25, .dimensions = {5, 5}};
}

TEST(Routes, AreThoseThatTheManagerPlanned) {
    Managed managed(torus(), "dor");
    const sm::Manager& manager = *managed.management->manager();
    const view::Routes routes = managed.routes();
    EXPECT_EQ(routes.tables.engine, "dor");
    EXPECT_TRUE(routes.sls_known);
    EXPECT_EQ(routes.tables.vls, 2);
    EXPECT_EQ(routes.not_active, 0U);
    EXPECT_EQ(routes.without_lid, 0U);
    EXPECT_EQ(routes.graph.host_count(), 25U);
    for (std::uint16_t from = 1; from <= 25; ++from) {
        for (std::uint16_t to = 1; to <= 25; ++to) {
            EXPECT_EQ(routes.tables.sl(routes.graph, Lid{from}, Lid{to}),
                      manager.sl(Lid{from}, Lid{to}));
        }
    }
    const auto now = managed.verify();
    const auto planned =
        routing::verify(*manager.graph(), manager.tables(), {.shifts_max = 0, .shift_samples = 0});
    EXPECT_TRUE(now.good());
    EXPECT_EQ(now.dependencies, planned.dependencies);
    EXPECT_EQ(now.load.max, planned.load.max);
}

TEST(Routes, ShowWhatWasWrittenBehindTheManagersBack) {
    Managed managed(torus(), "dor");
    managed.management->set_route(7, Lid{1}, 0xFF, 2);
    const auto report = managed.verify();
    EXPECT_FALSE(report.good());
    ASSERT_FALSE(report.reach.examples.empty());
    EXPECT_EQ(report.reach.examples[0].lid, Lid{1});
}

TEST(Routes, PulledCableIsNoCable) {
    Managed managed(torus(), "dor");
    const std::size_t links = managed.routes().graph.links().size();
    managed.management->set_plugged({shm::NodeRef::kSwitch, 0}, 2, false, 2);
    EXPECT_EQ(managed.routes().graph.links().size(), links - 2);
    EXPECT_TRUE(managed.verify().arrives()) << "the manager went around it";
}

TEST(Routes, NobodyHasBeenHere) {
    Managed managed(torus(), "dor");
    shm::RouteFile file = managed.collect();
    file.engine.clear();
    EXPECT_FALSE(view::join_routes(managed.arena, file).value().sls_known);
    file.tables_of.pop_back();
    EXPECT_FALSE(view::join_routes(managed.arena, file)) << "another fabric's";
}

TEST(Routes, EveryCutFileIsRefused) {
    Managed managed({.shape = topo::Shape::kTorus, .hosts = 9, .dimensions = {3, 3}}, "nue");
    const int fd = shm::write_routes(managed.collect());
    ASSERT_GE(fd, 0);
    ASSERT_TRUE(shm::read_routes(fd));
    for (off_t size = lseek(fd, 0, SEEK_END) - 1; size >= 0; --size) {
        ASSERT_EQ(ftruncate(fd, size), 0);
        ASSERT_FALSE(shm::read_routes(fd)) << size;
    }
    close(fd);
}

}  // namespace
}  // namespace softib::daemon
