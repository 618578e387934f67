// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_place.hpp"

#include "sys/thread_state.hpp"

#include <cerrno>
#include <sys/resource.h>

namespace weft::impl {
namespace {

// On Linux the niceness is a thread's, whatever the manual says of processes.
std::optional<int> niceness_of(pid_t thread) noexcept {
  errno = 0;
  const int found = ::getpriority(PRIO_PROCESS, static_cast<id_t>(thread));
  return errno == 0 ? std::optional(found) : std::nullopt;
}
bool set_niceness_here(int niceness) noexcept {
  return ::setpriority(PRIO_PROCESS, static_cast<id_t>(this_thread_number()), niceness) == 0;
}

}  // namespace

thread_place thread_place::of_thread(pid_t number) noexcept {
  thread_place here;
  here.has_mask_ = ::sched_getaffinity(number, sizeof here.mask_, &here.mask_) == 0;
  here.niceness_ = niceness_of(number != 0 ? number : this_thread_number());
  return here;
}

void thread_place::use_only(std::span<const std::uint32_t> processors) noexcept {
  CPU_ZERO(&mask_);
  for (const std::uint32_t each : processors) CPU_SET(each, &mask_);
  has_mask_ = true;
}

void thread_place::override_by(const thread_place& other) noexcept {
  if (other.has_mask_) mask_ = other.mask_;
  has_mask_ = has_mask_ || other.has_mask_;
  if (other.niceness_) niceness_ = other.niceness_;
}

std::uint32_t thread_place::processors() const noexcept {
  return has_mask_ ? static_cast<std::uint32_t>(CPU_COUNT(&mask_)) : 0;
}

std::optional<std::uint32_t> thread_place::first_unusable(
    std::span<const std::uint32_t> wished) const noexcept {
  for (const std::uint32_t each : wished) {
    if (each >= most_processors || (has_mask_ && !CPU_ISSET(each, &mask_))) return each;
  }
  return std::nullopt;
}

bool thread_place::may_be_as_nice_as(int niceness) noexcept {
  const std::optional<int> now = niceness_of(this_thread_number());
  if (now && niceness >= *now) return true;  // that is never forbidden
  if (!set_niceness_here(niceness)) return false;
  if (now) (void)set_niceness_here(*now);  // nor is the way back
  return true;
}

void thread_place::apply() const noexcept {
  if (has_mask_) (void)::sched_setaffinity(0, sizeof mask_, &mask_);
  if (niceness_ && niceness_ != niceness_of(this_thread_number())) (void)set_niceness_here(*niceness_);
}

}  // namespace weft::impl
