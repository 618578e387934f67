// SPDX-License-Identifier: Apache-2.0

#include "model/site.hpp"

#include <fstream>
#include <map>
#include <vector>

namespace weft::model {

const char* name(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed: return "relaxed";
    case std::memory_order_consume: return "consume";
    case std::memory_order_acquire: return "acquire";
    case std::memory_order_release: return "release";
    case std::memory_order_acq_rel: return "acq_rel";
    case std::memory_order_seq_cst: return "seq_cst";
  }
  return "?";
}

const char* name(operation what) noexcept {
  switch (what) {
    case operation::load: return "load";
    case operation::store: return "store";
    case operation::rmw: return "rmw";
    case operation::cas: return "cas";
    case operation::cas_failure: return "cas failure";
    case operation::full_fence: return "full fence";
    case operation::light_barrier: return "light barrier";
    case operation::heavy_barrier: return "heavy barrier";
  }
  return "?";
}

std::string source_line(const std::string& file, std::uint32_t line) {
  static std::map<std::string, std::vector<std::string>> read;  // the checker is single-threaded
  auto [at, fresh] = read.try_emplace(file);
  if (fresh) {
    std::ifstream in(file);
    if (!in)
      in.open(std::string(repository_root()) + '/' + short_file(file));  // builds name files relative to it
    for (std::string text; std::getline(in, text);) at->second.push_back(text);
  }
  if (line == 0 || line > at->second.size()) return {};
  const std::string& text = at->second[line - 1];
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  const std::size_t comment = text.find("  //");  // the order's reason is for the reader of the file
  const std::size_t last = text.find_last_not_of(" \t", comment);
  return text.substr(first, last - first + 1);
}

const char* repository_root() noexcept { return WEFT_MODEL_SOURCE_ROOT; }

std::string short_file(const std::string& file) {
  const std::string root = std::string(repository_root()) + '/';
  if (file.rfind(root, 0) == 0) return file.substr(root.size());
  // With ccache they are named relative to the folder of the build, which lies in the repository.
  std::size_t begin = 0;
  while (file.compare(begin, 3, "../") == 0) begin += 3;
  return file.substr(begin);
}

}  // namespace weft::model
