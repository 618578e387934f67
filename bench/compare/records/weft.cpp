// SPDX-License-Identifier: Apache-2.0
//
// Q3 and Q4 for weft: a task record, published when it is got, so that it has a handle that can be resolved.
#include "compare/records/config.hpp"
#include "queue/record_slab.hpp"

#include <weft/version.hpp>

#include <atomic>
#include <cstddef>

namespace {

namespace bench = weft::bench;
namespace impl = weft::impl;

struct task_record : impl::basic_record<impl::default_platform> {
  std::atomic<void*> scope{nullptr};
};
using slab = impl::basic_record_slab<impl::default_platform, task_record>;

class worker {
 public:
  explicit worker(slab& in) : slab_(in), home_(in.move_in().value()) {}
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() { slab_.move_out(*home_); }

  void* get() {
    task_record& made = **home_->allocate();
    made.scope.store(&made, std::memory_order_relaxed);
    static_cast<std::byte*>(slab_.body_of(made))[120] = std::byte{1};
    slab::publish(made);
    return &made;
  }
  void give(void* record) { home_->free(*static_cast<task_record*>(record)); }

 private:
  slab& slab_;
  slab::home* home_;
};

}  // namespace

int main(int argc, char** argv) {
  slab all({.body_bytes = bench::records::record_bytes - sizeof(task_record)});
  bench::records::run<worker>(bench::parse(argc, argv), all, "weft", WEFT_VERSION_STRING);
}
