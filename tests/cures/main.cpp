// SPDX-License-Identifier: Apache-2.0
//
// The program around a cure, which may live in this executable or in a shared library.

extern "C" int weft_run_cure();

int main() { return weft_run_cure(); }
