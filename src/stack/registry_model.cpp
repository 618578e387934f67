// SPDX-License-Identifier: Apache-2.0
//
// registry_model — the slab registry's version protocol: who looks up an address sees whole entries or nothing.
#include "stack/registry.hpp"

#include "model/model.hpp"

#include <array>

namespace weft::impl {
namespace {

using model::platform;
using model::require;

constexpr std::size_t page = 64;  // slabs of this size lie side by side in one array
struct alignas(page) fake_slab {
  slab header;
};
static_assert(sizeof(fake_slab) <= 2 * page);

/// A registry of two entries, and slabs that pretend to hold nothing but their header.
struct state {
  basic_slab_registry<platform, 2> registry;
  std::array<fake_slab, 3> slabs{};

  state() {
    for (fake_slab& s : slabs) {
      s.header.bytes = sizeof(fake_slab);
      s.header.count = 1;
      s.header.first_guard = reinterpret_cast<char*>(&s);  // so that any address inside belongs to stack 0
    }
  }
  [[nodiscard]] slab& at(std::size_t i) { return slabs[i].header; }

  // Nobody gets the range of one slab with the address of another.
  void look_up(std::size_t i) {
    const stack_location found = registry.find(&at(i));
    require(found.in == nullptr || found.in == &at(i),
            "an address was found in a slab that does not hold it");
  }
};

MODEL(RegistryModel, ASlabIsFoundWhileItIsThere) {
  auto& s = world.make<state>();
  (void)s.registry.add(s.at(0));
  world.thread("adds", [&s] { require(s.registry.add(s.at(1)).has_value(), "there is room"); });
  world.thread("finds", [&s] {
    require(s.registry.find(&s.at(0)).in == &s.at(0), "a slab that stays was not found");
    s.look_up(1);
  });
  world.finally([&s] { require(s.registry.find(&s.at(1)).in == &s.at(1), "the added slab was not found"); });
}

MODEL(RegistryModel, AnEntryThatChangesIsNeverSeenInParts) {
  auto& s = world.make<state>();
  (void)s.registry.add(s.at(0));
  world.thread("replaces", [&s] {
    s.registry.remove(s.at(0));
    require(s.registry.add(s.at(1)).has_value(), "there is room");
  });
  world.thread("finds", [&s] {
    s.look_up(0);
    s.look_up(1);
  });
}

MODEL(RegistryModel, TwoAddsTakeTwoEntries) {
  auto& s = world.make<state>();
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    world.thread(i == 0 ? "adds one" : "adds other",
                 [&s, i] { require(s.registry.add(s.at(i)).has_value(), "there is room for two"); });
  }
  world.finally([&s] {
    require(s.at(0).registered_as != s.at(1).registered_as, "two slabs in one entry");
    require(s.registry.find(&s.at(0)).in == &s.at(0) && s.registry.find(&s.at(1)).in == &s.at(1),
            "an added slab was not found");
  });
}

MODEL(RegistryModel, AddAndRemoveOfOthersDoNotDisturbEachOther) {
  auto& s = world.make<state>();
  (void)s.registry.add(s.at(0));
  world.thread("removes", [&s] { s.registry.remove(s.at(0)); });
  world.thread("adds", [&s] { require(s.registry.add(s.at(1)).has_value(), "there is room for two"); });
  world.thread("finds", [&s] { s.look_up(1); });
  world.finally([&s] {
    require(s.registry.find(&s.at(0)).in == nullptr, "a removed slab was found");
    require(s.registry.find(&s.at(1)).in == &s.at(1), "the added slab was not found");
  });
}

}  // namespace
}  // namespace weft::impl
