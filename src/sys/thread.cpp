// SPDX-License-Identifier: Apache-2.0

#include "sys/thread.hpp"

#include <weft/detail/assert.hpp>

#include <memory>
#include <new>
#include <string_view>

namespace weft::impl {
namespace {

constexpr std::size_t name_limit = 15;

struct start_record {
  void (*body)(void*);
  void* argument;
  char name[name_limit + 1];
};

void* run_thread(void* raw) {
  start_record record = *static_cast<start_record*>(raw);
  delete static_cast<start_record*>(raw);
  if (record.name[0] != '\0') (void)::pthread_setname_np(::pthread_self(), record.name);
  record.body(record.argument);
  return nullptr;
}

std::error_code system_error(int number) noexcept { return {number, std::system_category()}; }

}  // namespace

result<system_thread> system_thread::start(void (*body)(void*), void* argument, options how) noexcept {
  std::unique_ptr<start_record> record(new (std::nothrow) start_record{body, argument, {}});
  if (!record) return std::make_error_code(std::errc::not_enough_memory);
  std::string_view(how.name ? how.name : "").copy(record->name, name_limit);

  pthread_attr_t attributes;
  if (const int failed = ::pthread_attr_init(&attributes); failed != 0) return system_error(failed);
  int failed = how.stack_size == 0 ? 0 : ::pthread_attr_setstacksize(&attributes, how.stack_size);
  system_thread started;
  if (failed == 0) failed = ::pthread_create(&started.handle_, &attributes, &run_thread, record.get());
  (void)::pthread_attr_destroy(&attributes);
  if (failed != 0) return system_error(failed);

  (void)record.release();  // the thread frees it
  started.joinable_ = true;
  return started;
}

system_thread& system_thread::operator=(system_thread&& other) noexcept {
  WEFT_CHECK(!joinable_, "a thread is joined before another takes its place");
  handle_ = other.handle_;
  joinable_ = std::exchange(other.joinable_, false);
  return *this;
}

system_thread::~system_thread() { WEFT_CHECK(!joinable_, "a thread is joined before it is destroyed"); }

bool system_thread::try_join() noexcept {
  if (joinable_ && ::pthread_tryjoin_np(handle_, nullptr) == 0) joinable_ = false;
  return !joinable_;
}

void system_thread::join() noexcept {
  WEFT_CHECK(joinable_, "joining a thread that was never started, or twice");
  const int failed = ::pthread_join(handle_, nullptr);
  WEFT_CHECK(failed == 0, "a thread cannot join itself");
  joinable_ = false;
}

}  // namespace weft::impl
