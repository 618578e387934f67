// SPDX-License-Identifier: Apache-2.0
//
// intrusive_list — a doubly linked list and a stack (lifo) whose links live in the elements.
//
// Linking allocates nothing and cannot fail, an element can leave from the middle without being searched for,
// and a node on a waiter's own stack is enough. An element derives from list_node<Tag>; the tag tells
// several lists of one element apart.
//
// Thread safety: none; a list belongs to whoever owns it, or to the lock that guards it.
// Invariants:   L1  a node is in at most one list per tag, and knows whether it is in one
//               L2  the circle closes: node->next_->previous_ == node, through the list's own head
//               L3  a node that is linked is not destroyed
#pragma once

#include <weft/detail/assert.hpp>

#include <concepts>
#include <cstddef>
#include <iterator>

namespace weft::impl {

template <class T, class Tag>
class intrusive_list;

/// The links of one element in one list; derive from it once per list the element may be in.
template <class Tag = void>
class list_node {
 public:
  list_node() noexcept = default;
  list_node(const list_node&) = delete;
  list_node& operator=(const list_node&) = delete;
  ~list_node() { WEFT_ASSERT(!is_linked(), "L3: a node was destroyed while still in a list"); }

  /// Whether the node is in a list now.
  [[nodiscard]] bool is_linked() const noexcept { return next_ != nullptr; }
  /// Where in it the next one is; for debuggers.
  [[nodiscard]] static std::size_t offset_of_next() noexcept { return sizeof(void*); }

 private:
  template <class T, class U>
  friend class intrusive_list;

  list_node* previous_ = nullptr;
  list_node* next_ = nullptr;  // null exactly while in no list (L1); the second: see offset_of_next()
};

/// A doubly linked list of elements that live elsewhere. First in, first out by push_back and pop_front.
template <class T, class Tag = void>
class intrusive_list {
  using node = list_node<Tag>;

 public:
  class iterator {
   public:
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::bidirectional_iterator_tag;
    using pointer = T*;
    using reference = T&;

    iterator() noexcept = default;
    T& operator*() const noexcept { return static_cast<T&>(*at_); }
    T* operator->() const noexcept { return static_cast<T*>(at_); }
    iterator& operator++() noexcept {
      at_ = at_->next_;
      return *this;
    }
    iterator operator++(int) noexcept {
      iterator before = *this;
      ++*this;
      return before;
    }
    iterator& operator--() noexcept {
      at_ = at_->previous_;
      return *this;
    }
    iterator operator--(int) noexcept {
      iterator before = *this;
      --*this;
      return before;
    }
    bool operator==(const iterator&) const noexcept = default;

   private:
    friend class intrusive_list;
    explicit iterator(node* at) noexcept : at_(at) {}
    node* at_ = nullptr;
  };

  intrusive_list() noexcept { head_.previous_ = head_.next_ = &head_; }
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;
  ~intrusive_list() {
    WEFT_ASSERT(empty(), "L3: a list was destroyed with elements still in it");
    head_.previous_ = head_.next_ = nullptr;  // the head is no longer "linked"
  }

  [[nodiscard]] bool empty() const noexcept { return head_.next_ == &head_; }

  /// Where the circle begins and ends; for debuggers.
  [[nodiscard]] const void* head() const noexcept { return &head_; }

  /// Counts the elements: linear, for tests and dumps.
  [[nodiscard]] std::size_t size() const noexcept {
    std::size_t n = 0;
    for (const node* at = head_.next_; at != &head_; at = at->next_) ++n;
    return n;
  }

  void push_back(T& element) noexcept { link(element, *head_.previous_); }
  void push_front(T& element) noexcept { link(element, head_); }

  [[nodiscard]] T& front() noexcept {
    WEFT_ASSERT(!empty(), "front() of an empty list");
    return static_cast<T&>(*head_.next_);
  }
  [[nodiscard]] T& back() noexcept {
    WEFT_ASSERT(!empty(), "back() of an empty list");
    return static_cast<T&>(*head_.previous_);
  }

  /// Takes the first element out, or gives nullptr where there is none.
  [[nodiscard]] T* try_pop_front() noexcept {
    if (empty()) return nullptr;
    T& element = front();
    erase(element);
    return &element;
  }

  /// The same for the last.
  [[nodiscard]] T* try_pop_back() noexcept {
    if (empty()) return nullptr;
    T& element = back();
    erase(element);
    return &element;
  }

  /// Takes an element out of the middle.
  void erase(T& element) noexcept {
    node& n = element;
    WEFT_ASSERT(n.is_linked(), "L1: erasing an element that is in no list");
    WEFT_ASSERT(n.next_->previous_ == &n && n.previous_->next_ == &n, "L2: the circle is broken");
    n.previous_->next_ = n.next_;
    n.next_->previous_ = n.previous_;
    n.previous_ = n.next_ = nullptr;
  }

  /// Moves all elements of `other` behind ours, in constant time.
  void splice_back(intrusive_list& other) noexcept {
    WEFT_ASSERT(&other != this, "a list cannot be spliced into itself");
    if (other.empty()) return;
    node* const first = other.head_.next_;
    node* const last = other.head_.previous_;
    first->previous_ = head_.previous_;
    head_.previous_->next_ = first;
    last->next_ = &head_;
    head_.previous_ = last;
    other.head_.previous_ = other.head_.next_ = &other.head_;
  }

  [[nodiscard]] iterator begin() noexcept { return iterator(head_.next_); }
  [[nodiscard]] iterator end() noexcept { return iterator(&head_); }

 private:
  static void link(T& element, node& after) noexcept {
    static_assert(std::derived_from<T, node>,
                  "an element of an intrusive_list<T, Tag> derives from list_node<Tag>");
    node& n = element;
    WEFT_ASSERT(!n.is_linked(), "L1: the element is already in a list");
    n.previous_ = &after;
    n.next_ = after.next_;
    after.next_->previous_ = &n;
    after.next_ = &n;
  }

  node head_;
};

/// A last-in, first-out chain through one member pointer: `intrusive_lifo<stack_slot, &stack_slot::next>`.
template <class T, T* T::*Next>
class intrusive_lifo {
 public:
  [[nodiscard]] bool empty() const noexcept { return top_ == nullptr; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push(T& element) noexcept {
    element.*Next = top_;
    top_ = &element;
    ++size_;
  }

  /// Takes the newest element out, or gives nullptr where there is none.
  [[nodiscard]] T* try_pop() noexcept {
    T* const element = top_;
    if (element == nullptr) return nullptr;
    top_ = element->*Next;
    element->*Next = nullptr;
    --size_;
    return element;
  }

 private:
  T* top_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weft::impl
