// SPDX-License-Identifier: Apache-2.0
//
// test_headers — nothing but the headers that all tests share, precompiled (cmake/WeftTesting.cmake).
