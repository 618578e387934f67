// SPDX-License-Identifier: Apache-2.0

#include "sys/thread_value.hpp"

#include <new>
#include <pthread.h>

namespace weft::impl {
namespace {

struct entry {
  void* value;
  void (*destroy)(void* value) noexcept;
};

void end_of_thread(void* raw) {
  auto* const mine = static_cast<entry*>(raw);
  mine->destroy(mine->value);
  delete mine;
}

// Made when it is first needed, and never given back: threads may end after main.
const pthread_key_t* key() noexcept {
  static const struct made_once {
    made_once() noexcept : is_good(::pthread_key_create(&key, &end_of_thread) == 0) {}
    pthread_key_t key{};
    bool is_good;
  } made;
  return made.is_good ? &made.key : nullptr;
}

}  // namespace

void* get_thread_value() noexcept {
  const pthread_key_t* const made = key();
  const auto* const mine = made == nullptr ? nullptr : static_cast<entry*>(::pthread_getspecific(*made));
  return mine == nullptr ? nullptr : mine->value;
}

bool set_thread_value(void* value, void (*destroy)(void* value) noexcept) noexcept {
  const pthread_key_t* const made = key();
  if (made == nullptr) return false;
  auto* const mine = new (std::nothrow) entry{value, destroy};
  if (mine == nullptr) return false;
  if (::pthread_setspecific(*made, mine) == 0) return true;
  delete mine;
  return false;
}

}  // namespace weft::impl
