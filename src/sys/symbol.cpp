// SPDX-License-Identifier: Apache-2.0

#include "sys/symbol.hpp"

#include <cstddef>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

namespace weft::impl {

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)

namespace {

// The parts of a module's dynamic section that lead to its exported functions.
struct symbol_table {
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH

  [[nodiscard]] bool complete() const noexcept { return symbols && names && hash; }
};

symbol_table tables_of(const link_map& module) noexcept {
  symbol_table found;
  // glibc has already turned these into addresses, except in the kernel's own module, which it leaves as it is.
  const auto at = [&](ElfW(Addr) value) { return value < module.l_addr ? value + module.l_addr : value; };
  for (const ElfW(Dyn)* entry = module.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    const ElfW(Addr) value = at(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) found.symbols = reinterpret_cast<const ElfW(Sym)*>(value);
    if (entry->d_tag == DT_STRTAB) found.names = reinterpret_cast<const char*>(value);
    if (entry->d_tag == DT_GNU_HASH) found.hash = reinterpret_cast<const std::uint32_t*>(value);
  }
  return found;
}

// One past the last symbol. The table itself does not say; its hash does: the longest chain ends it.
std::uint32_t symbol_count(const symbol_table& table) noexcept {
  const std::uint32_t buckets = table.hash[0];
  const std::uint32_t first = table.hash[1];
  const std::uint32_t bloom_words = table.hash[2];
  const std::uint32_t* const bucket =
      table.hash + 4 + bloom_words * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
  const std::uint32_t* const chain = bucket + buckets;
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < buckets; ++i) last = bucket[i] > last ? bucket[i] : last;
  if (last < first) return first;
  while ((chain[last - first] & 1U) == 0) ++last;
  return last + 1;
}

}  // namespace

symbol find_symbol(const void* address) noexcept {
  dl_find_object object{};
  if (::_dl_find_object(const_cast<void*>(address), &object) != 0 || object.dlfo_link_map == nullptr)
    return {};
  const link_map& module = *object.dlfo_link_map;
  symbol found;
  found.module = module.l_name;
  found.module_base = module.l_addr;
  const symbol_table table = tables_of(module);
  if (!table.complete()) return found;
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  const std::uint32_t count = symbol_count(table);
  for (std::uint32_t i = table.hash[1]; i < count; ++i) {
    const ElfW(Sym)& one = table.symbols[i];
    const std::uintptr_t begin = module.l_addr + one.st_value;
    const bool function = (one.st_info & 0xfU) == STT_FUNC && one.st_shndx != SHN_UNDEF;
    if (!function || wanted < begin || wanted >= begin + one.st_size) continue;
    found.name = table.names + one.st_name;
    found.address = begin;
    break;
  }
  return found;
}

#else

symbol find_symbol(const void*) noexcept { return {}; }

#endif

}  // namespace weft::impl
