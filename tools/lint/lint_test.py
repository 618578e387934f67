#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# lint_test: every lint fails on a bad sample and passes on a good one.
#
# A lint that cannot fail protects nothing, and nobody notices. So each rule is shown here to fire, on a
# sample built in a temporary folder, next to the sample that shows it leaves correct code alone. Samples
# for an instruction set without a compiler on this machine are reported as skipped, by name. It is one
# long file because each class is a list of samples, and the pairs are best read together.
"""Usage: lint_test.py [unittest options]"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import textwrap
import unittest

here = os.path.dirname(os.path.abspath(__file__))
repository = os.path.dirname(os.path.dirname(here))


class lint_case(unittest.TestCase):
    """A temporary folder, and ways to fill it and to run the tools on it."""

    def setUp(self):
        keep = tempfile.TemporaryDirectory()
        self.addCleanup(keep.cleanup)
        self.dir = os.path.realpath(keep.name)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(textwrap.dedent(text))
        return self.path(name)

    def shell(self, *command):
        done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, f"{command}\n{done.stderr}")

    def lint(self, tool, *arguments):
        command = [sys.executable, "-B", os.path.join(here, tool), *arguments]
        done = subprocess.run(command, cwd=self.dir, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def assert_clean(self, result):
        self.assertEqual(result, (0, ""))

    def assert_finds(self, result, *texts):
        self.assertEqual(result[0], 1, result[1])
        for text in texts:
            self.assertIn(text, result[1])


class Layers(lint_case):
    def tree(self, files):
        good = {
            "include/weft/chan.hpp": "#include <weft/detail/slot.hpp>\n#include <vector>\n",
            "include/weft/detail/slot.hpp": '#include "../fwd.hpp"\n',
            "include/weft/fwd.hpp": "#include <cstddef>\n",
            "src/base/list.hpp": "#include <weft/fwd.hpp>\n",
            "src/sys/futex.hpp": '#include "base/list.hpp"\n#include <unistd.h>\n',
            "src/arch/context.hpp": '#include "base/list.hpp"\n',
            "src/sched/fiber.hpp": '#include "arch/context.hpp"\n#include "sys/futex.hpp"\n',
            "src/sched/fiber_test.cpp": '#include "fiber.hpp"\n#include "support/run.hpp"\n'
                                        "#include <gtest/gtest.h>\n",
            "src/sched/fiber_model.cpp": '#include "sched/fiber.hpp"\n#include "model/model.hpp"\n',
            "src/chan/channel.hpp": '#include "sched/fiber.hpp"\n',
            "src/actor/mailbox.cpp": "#include <weft/chan.hpp>\n#include <weft/detail/slot.hpp>\n",
            "src/c/chan.cpp": "#include <weft/chan.hpp>\n",
            "tests/support/run.hpp": "",
            "tools/model/model.hpp": "",
        }
        for name, text in {**good, **files}.items():
            self.write(name, text)
        return self.lint("layers.py", "--root", self.dir)

    def test_a_good_tree_passes(self):
        self.assert_clean(self.tree({}))

    def test_comments_and_strings_are_not_includes(self):
        text = '/*\n#include "sched/fiber.hpp"\n*/\n// x\nauto t = R"(\n#include "nope.hpp"\n)";\n'
        self.assert_clean(self.tree({"src/base/a.cpp": text}))

    def test_a_generated_header_is_found(self):
        self.write("gen/weft/version.hpp", "")
        self.write("include/weft/a.hpp", "#include <weft/version.hpp>\n")
        self.assert_finds(self.lint("layers.py", "--root", self.dir), "a.hpp:1: <weft/version.hpp> does not exist")
        self.assert_clean(self.lint("layers.py", "--root", self.dir, "--include", self.path("gen")))

    def test_each_rule_fires(self):
        cases = [
            ("src/base/a.cpp", '\n#include "sched/fiber.hpp"', "a.cpp:2: layer base includes layer sched"),
            ("src/arch/a.cpp", '#include "sys/futex.hpp"', "arch and sys stand side by side"),
            ("src/actor/a.cpp", '#include "chan/channel.hpp"', "a feature uses another only by its public header"),
            ("src/c/a.cpp", '#include "base/list.hpp"', "layer c may include only public headers"),
            ("src/c/a.cpp", "#include <weft/detail/slot.hpp>", "layer c includes weft/detail"),
            ("src/base/a.cpp", '#include "base/nope.hpp"', '"base/nope.hpp" does not exist'),
            ("src/base/a.cpp", "#include <weft/nope.hpp>", "<weft/nope.hpp> does not exist"),
            ("src/base/a.cpp", '#include "weft/fwd.hpp"', "public headers are included as <weft/fwd.hpp>"),
            ("src/sys/a.cpp", "#include <base/list.hpp>", 'private headers are included as "base/list.hpp"'),
            ("src/sys/a.cpp", '#include "../base/list.hpp"', "without .."),
            ("src/sys/a.cpp", "#include <gtest/gtest.h>", "layer sys includes a test library"),
            ("src/sys/a.cpp", '#include "support/run.hpp"', "layer sys includes tests/support"),
            ("src/sys/a.cpp", '#include "model/model.hpp"', '"model/model.hpp" does not exist'),
            ("src/sys/a.cpp", "#include WEFT_HEADER", "a computed include cannot be checked"),
            ("src/other/a.cpp", "", "stands in no layer"),
            ("include/weft/a.hpp", '#include "base/list.hpp"', "a public header includes layer base"),
            ("include/weft/a.hpp", "#include <unistd.h>", "only include/weft and the standard library"),
        ]
        for name, text, message in cases:
            with self.subTest(message):
                self.assert_finds(self.tree({name: text + "\n"}), f"{name}:", message)
                os.remove(self.path(name))

    def test_an_empty_tree_is_no_pass(self):
        self.assert_finds(self.lint("layers.py", "--root", self.dir), "nothing was checked")


class object_case(lint_case):
    """Compiles samples for one instruction set."""

    isa = ""

    def setUp(self):
        super().setUp()
        self.prefix = "" if platform.machine() == self.isa else f"{self.isa}-linux-gnu-"
        if not shutil.which(self.prefix + "g++"):
            self.skipTest(f"{self.prefix}g++ is not installed: {self.isa} samples were not tried")

    def compile(self, text, *options, name="sample.cpp"):
        source = self.write(name, text)
        self.shell(self.prefix + "g++", "-std=c++20", "-O2", *options, "-c", source, "-o", source + ".o")
        return source + ".o"

    def archive(self, *objects):
        self.shell(self.prefix + "ar", "rcs", self.path("libweft.a"), *objects)
        return self.path("libweft.a")

    def tls(self, path, *options):
        return self.lint("tls.py", "--root", self.dir, "--objdump", self.prefix + "objdump",
                         "--readelf", self.prefix + "readelf", path, *options)

    def notes(self, path, *options):
        return self.lint("notes.py", "--readelf", self.prefix + "readelf", path, *options)


x86_accessor = """
    extern "C" { extern thread_local void* weft_tls_carrier; }
    void* read_slot() {
      void* p;
      asm volatile("movq weft_tls_carrier@gottpoff(%%rip), %0\\n\\tmovq %%fs:(%0), %0" : "=r"(p));
      return p;
    }
    void write_slot(void* word) {
      void* p;
      asm volatile("movq weft_tls_carrier@gottpoff(%%rip), %0\\n\\tmovq %1, %%fs:(%0)" : "=&r"(p) : "r"(word));
    }
    void* read_slot_in_r13() {
      register void* p asm("r13");
      asm volatile("movq weft_tls_carrier@gottpoff(%%rip), %0\\n\\tmovq %%fs:(%0), %0" : "=r"(p));
      return p;
    }
    void fill(char*);
    void with_canary() { char text[64]; fill(text); }
"""
plain_thread_local = "thread_local int x;\nint read_x() { return x; }\n"
uses_errno = "#include <cerrno>\nint last() { return errno; }\n"
uses_eh_globals = """
    #include <cxxabi.h>
    void* globals() { return abi::__cxa_get_globals(); }
"""


class TlsX86(object_case):
    isa = "x86_64"

    def test_the_accessor_and_the_canary_pass(self):
        variable = self.compile('extern "C" { thread_local void* weft_tls_carrier; }', name="tls.cpp")
        for options in (["-fstack-protector-all"], ["-fPIC", "-g", "-fstack-protector-all"]):
            with self.subTest(options):
                sample = self.compile(x86_accessor, *options)
                self.assert_clean(self.tls(sample))
                self.assert_clean(self.tls(self.archive(sample, variable)))

    def test_a_plain_thread_local_fails(self):
        self.assert_finds(self.tls(self.compile(plain_thread_local)), "read_x()", "R_X86_64_TPOFF32", "%fs:")

    def test_a_thread_local_in_a_shared_library_fails(self):
        found = self.tls(self.archive(self.compile(plain_thread_local, "-fPIC")))
        self.assert_finds(found, "libweft.a(sample.cpp.o)", "R_X86_64_TLSGD", "__tls_get_addr")

    def test_other_uses_of_the_thread_register_fail(self):
        cases = {
            "the wrong symbol": ("movq other_word@gottpoff(%rip), %rax\\n movq %fs:(%rax), %rax", "other_word"),
            "another register": ("movq weft_tls_carrier@gottpoff(%rip), %rax\\n movq %fs:(%rdx), %rdx", "at once"),
            "too late": ("movq weft_tls_carrier@gottpoff(%rip), %rax\\n nop\\n nop\\n movq %fs:(%rax), %rax",
                         "at once"),
            "no slot": ("movq %fs:0x10, %rax", "access to the thread register"),
            "like a canary": ("movq %fs:0x28(%rax), %rax", "access to the thread register"),
            "gs": ("movq %gs:0x28, %rax", "access to the thread register"),
            "the base itself": ("rdfsbase %rax", "access to the thread register"),
        }
        for name, (text, message) in cases.items():
            with self.subTest(name):
                self.assert_finds(self.tls(self.compile(f'void f() {{ asm("{text}"); }}')), "f()", message)

    def test_errno_belongs_to_sys(self):
        sample = self.compile(uses_errno, name="last.cpp")
        self.assert_finds(self.tls(sample), "last()", "uses errno outside src/sys")
        self.assert_clean(self.tls(sample, "--errno-ok", "last"))
        self.write("src/sys/last.cpp", "")
        self.assert_clean(self.tls(self.archive(sample)))
        self.write("src/io/last.cpp", "")
        self.assert_finds(self.tls(sample), "rename one")

    def test_a_pointer_to_errno_location_in_data_fails(self):
        sample = self.compile("#include <cerrno>\nint* (*const volatile where)() = &__errno_location;\n"
                              "int* f() { return where(); }\n", "-fPIC")
        self.assert_finds(self.tls(sample), "uses errno outside src/sys", ".data")

    def test_the_exception_globals_have_one_owner(self):
        self.assert_finds(self.tls(self.compile(uses_eh_globals)), "uses the exception globals")
        self.assert_clean(self.tls(self.compile(uses_eh_globals, name="eh_globals.cpp")))

    def test_what_cannot_be_checked_is_refused(self):
        slim = self.compile("int f() { return 1; }", "-flto", "-fno-fat-lto-objects", name="slim.cpp")
        self.assert_finds(self.tls(self.archive(slim)), "slim LTO object")
        self.assert_finds(self.notes(slim), "slim LTO object")
        self.assert_finds(self.tls(self.compile("int only_data = 1;", name="data.cpp")), "no machine code at all")
        self.assert_finds(self.tls(self.path("nope.a")), "no such file")
        self.shell(self.prefix + "g++", "-shared", "-o", self.path("lib.so"), self.compile("int f();", "-fPIC"))
        self.assert_finds(self.tls(self.path("lib.so")), "is a linked file")

    def test_llvm_bitcode_is_refused(self):
        if not shutil.which("clang++"):
            self.skipTest("clang++ is not installed: LLVM bitcode was not tried")
        source = self.write("bitcode.cpp", "int f() { return 1; }")
        self.shell("clang++", "-flto", "-c", source, "-o", source + ".o")
        self.assert_finds(self.tls(source + ".o"), "LLVM bitcode")
        self.assert_finds(self.tls(self.archive(source + ".o")), "LLVM bitcode")


arm_accessor = """
    void* read_slot() {
      void *p, *t;
      asm volatile("adrp %0, :gottprel:weft_tls_carrier\\n\\tldr %0, [%0, #:gottprel_lo12:weft_tls_carrier]\\n\\t"
                   "mrs %1, tpidr_el0\\n\\tldr %0, [%1, %0]" : "=&r"(p), "=&r"(t));
      return p;
    }
    void fill(char*);
    void with_canary() { char text[64]; fill(text); }
"""


class TlsAarch64(object_case):
    isa = "aarch64"

    def test_the_accessor_passes(self):
        for options in ([], ["-fPIC", "-fstack-protector-all"]):
            with self.subTest(options):
                self.assert_clean(self.tls(self.compile(arm_accessor, *options)))

    def test_a_thread_local_fails(self):
        self.assert_finds(self.tls(self.compile(plain_thread_local)), "read_x()", "R_AARCH64_TLSLE", "tpidr_el0")
        self.assert_finds(self.tls(self.compile(plain_thread_local, "-fPIC")), "R_AARCH64_TLSDESC", "tpidr_el0")

    def test_other_uses_of_the_thread_register_fail(self):
        other = arm_accessor.replace("weft_tls_carrier", "other_word")
        self.assert_finds(self.tls(self.compile(other)), "against other_word", "mrs")
        alone = 'void* f() { void* p; asm("mrs %0, tpidr_el0" : "=r"(p)); return p; }'
        self.assert_finds(self.tls(self.compile(alone)), "f()", "access to the thread register")
        written = 'void f(void* p) { asm("msr tpidr_el0, %0" :: "r"(p)); }'
        self.assert_finds(self.tls(self.compile(written)), "access to the thread register")
        unused = arm_accessor.replace("mrs %1, tpidr_el0", "mov %1, %0")
        self.assert_finds(self.tls(self.compile(unused)), "at once")

    def test_errno_belongs_to_sys(self):
        self.assert_finds(self.tls(self.compile(uses_errno)), "uses errno outside src/sys")


class NotesX86(object_case):
    isa = "x86_64"
    text = "int f(int x) { return x + 1; }"

    def test_branch_protection_alone_passes(self):
        sample = self.compile(self.text, "-fcf-protection=branch")
        self.assert_clean(self.notes(self.archive(sample)))

    def test_a_shadow_stack_claim_fails(self):
        sample = self.compile(self.text, "-fcf-protection=full")
        self.assert_finds(self.notes(self.archive(sample)), "libweft.a(sample.cpp.o)", "claims SHSTK")

    def test_a_missing_claim_fails_unless_optional(self):
        sample = self.compile(self.text, "-fcf-protection=none")
        self.assert_finds(self.notes(sample), "does not claim IBT")
        self.assert_clean(self.notes(sample, "--landing-pads", "optional"))

    def test_an_executable_stack_fails(self):
        asked = self.compile(self.text, "-fcf-protection=branch", "-Wa,--execstack")
        self.assert_finds(self.notes(asked), "asks for an executable stack")
        silent = self.write("silent.s", ".text\nf: ret\n")
        self.shell(self.prefix + "as", silent, "-o", silent + ".o")
        self.assert_finds(self.notes(silent + ".o"), "no .note.GNU-stack")


class NotesAarch64(object_case):
    isa = "aarch64"
    text = "int f(int x) { return x + 1; }"

    def test_bti_passes_and_its_absence_fails_unless_optional(self):
        self.assert_clean(self.notes(self.compile(self.text, "-mbranch-protection=bti")))
        without = self.compile(self.text, "-mbranch-protection=none")
        self.assert_finds(self.notes(without), "does not claim BTI")
        self.assert_clean(self.notes(without, "--landing-pads", "optional"))

    def test_a_gcs_claim_fails(self):
        source = self.write("gcs.s", """
            .section .note.GNU-stack,"",@progbits
            .section .note.gnu.property,"a"
            .balign 8
            .long 4, 16, 5
            .asciz "GNU"
            .long 0xc0000000, 4, 5, 0
        """)
        self.shell(self.prefix + "as", source, "-o", source + ".o")
        self.assert_finds(self.notes(source + ".o"), "claims GCS")


class Headers(lint_case):
    def headers(self, *options):
        code, out = self.lint("headers.py", "--root", self.dir, *options)
        return code, "".join(line for line in out.splitlines(True) if "is not installed: skipped" not in line)

    def test_good_headers_pass(self):
        self.write("include/weft/a.hpp", "#pragma once\n#include <cstddef>\nnamespace weft { std::size_t f(); }\n")
        self.write("include/weft/c.h", "#ifdef __cplusplus\nextern \"C\"\n#endif\nint weft_version(void);\n")
        self.write("src/base/b.hpp", "#pragma once\n#include <weft/a.hpp>\n#include <weft/made.hpp>\n"
                                     '#include "base/c.hpp"\n')
        self.write("src/base/c.hpp", "#pragma once\n")
        self.write("gen/weft/made.hpp", "#pragma once\n")
        self.assert_clean(self.headers("--include", self.path("gen")))
        self.assert_finds(self.headers(), "src/base/b.hpp", "weft/made.hpp")

    def test_a_missing_include_fails(self):
        self.write("include/weft/a.hpp", "#pragma once\nnamespace weft { std::size_t f(); }\n")
        self.assert_finds(self.headers(), "include/weft/a.hpp:1: does not compile alone")

    def test_a_warning_fails(self):
        self.write("src/base/a.hpp", "#pragma once\ninline int f(int unused) { return 1; }\n")
        self.assert_finds(self.headers(), "src/base/a.hpp:1: does not compile alone")

    def test_a_c_header_is_compiled_as_c(self):
        self.write("include/weft/c.h", 'extern "C" int weft_version();\n')
        self.assert_finds(self.headers(), "does not compile alone as c with")

    def test_no_headers_is_no_pass(self):
        self.assert_finds(self.headers(), "nothing was checked")

    def test_a_header_for_another_machine_is_not_passed_over(self):
        other = "aarch64" if platform.machine() == "x86_64" else "x86_64"
        self.write("src/base/a.hpp", "#pragma once\n")
        self.write(f"src/arch/switch_{other}.hpp", f"#ifndef __{other}__\n#error wrong machine\n#endif\n")
        code, out = self.lint("headers.py", "--root", self.dir)
        self.assertEqual(code, 0, out)
        if not shutil.which(f"{other}-linux-gnu-g++"):
            self.assertIn(f"src/arch/switch_{other}.hpp", out)


documented = """
    #pragma once
    /// A documented macro.
    #define WEFT_LEVEL 1
    namespace weft::impl { struct fiber; }
    namespace weft {
    class only_declared;
    /// Things that may move.
    template <class T> concept sendable = true;
    /// Colours.
    enum class colour {
      red,    ///< like blood
      green,  ///< like grass
    };
    /// An alias.
    using number = int;
    /// A constant.
    inline constexpr number one = 1;
    /// A thing.
    class WEFT_EXPORT thing {
     public:
      thing(const thing&) = delete;
      thing& operator=(thing&&) noexcept = default;
      /// Destroys.
      ~thing();
      /// Runs f.
      template <sendable F> requires(sizeof(F) > 1) void run(F&& f) noexcept(noexcept(f()));
      /// Its number.
      number value = 0;
      /// Compares.
      friend bool operator==(const thing&, const thing&);
      friend class other;
     private:
      struct hidden { int x; };
      void helper();
      int member_;
    };
    template <class T> thing(T) -> thing;
    /// Does it.
    void act();
    @EXTRA@
    }
    template <> struct std::hash<weft::thing> { unsigned long operator()(const weft::thing&) const noexcept; };
"""


class Docs(lint_case):
    def docs(self, extra=""):
        self.write("include/weft/a.hpp", documented.replace("@EXTRA@", extra))
        return self.lint("docs.py", "--root", self.dir)

    def test_documented_headers_pass_and_detail_is_left_out(self):
        self.write("include/weft/detail/b.hpp", "namespace weft::detail { void undocumented(); }\n")
        self.assert_clean(self.docs())
        self.assertEqual(sorted(os.listdir(self.dir)), ["include"])

    def test_each_kind_of_undocumented_symbol_fails(self):
        cases = {
            "void lost();": "function weft::lost()",
            "void act(int);": "function weft::act(int)",
            "struct lost {};": "struct weft::lost",
            "union lost { int a; /**< a */ };": "union weft::lost",
            "/// A b.\nstruct b { void lost(); };": "function weft::b::lost()",
            "/// A b.\nstruct b { int lost; };": "variable or member weft::b::lost",
            "/// A b.\nstruct b { ~b(); };": "function weft::b::~b()",
            "/// A b.\nstruct b { friend bool operator==(b, b); };": "friend function weft::b::operator==",
            "/// A b.\nstruct b { struct lost {}; };": "struct weft::b::lost",
            "enum class lost { /** x */ x };": "enum weft::lost",
            "/// An e.\nenum class e { lost };": "enum value weft::e::lost",
            "template <class T> concept lost = true;": "concept weft::lost",
            "using lost = int;": "typedef weft::lost",
            "typedef int lost;": "typedef weft::lost",
            "inline constexpr int lost = 1;": "variable or member weft::lost",
            "#define WEFT_LOST(x) x\n": "macro WEFT_LOST",
        }
        for extra, message in cases.items():
            with self.subTest(message):
                self.assert_finds(self.docs(extra), "include/weft/a.hpp:", f"undocumented {message}")

    def test_no_headers_is_no_pass(self):
        self.assert_finds(self.lint("docs.py", "--root", self.dir), "nothing was checked")


class Examples(lint_case):
    test_file = "int before;\n// [twice]\n  int twice(int x) {\n    return 2 * x;\n  }\n// [twice]\nint after;\n"
    page = "Text.\n\n<!-- example: src/a_test.cpp [twice] -->\n\n    int twice(int x) {\n      return 2 * x;\n    }\n\nMore.\n"

    def examples(self, page, test_file=test_file):
        for name, text in (("src/a_test.cpp", test_file), ("docs/guide/page.md", page)):
            self.write(name, "")
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)  # as it is: indentation matters here
        return self.lint("examples.py", "--root", self.dir)

    def test_an_example_that_is_a_piece_of_a_test_passes(self):
        self.assert_clean(self.examples(self.page))
        self.assert_clean(self.examples(self.page.removesuffix("\nMore.\n")))

    def test_examples_that_have_drifted_or_are_nowhere_fail(self):
        cases = {
            self.page.replace("2 * x", "3 * x"): "page.md:3: example src/a_test.cpp [twice]: differs",
            self.page.replace("    int twice(int x) {\n", ""): "differs",
            self.page.replace("[twice]", "[thrice]"): "0 lines `// [thrice]` instead of two",
            self.page.replace("a_test", "b_test"): "that file does not exist",
            self.page.replace("Text.", "See <!-- example: src/a_test.cpp [twice] -->"): "page.md:1: write",
        }
        for page, message in cases.items():
            with self.subTest(message):
                self.assert_finds(self.examples(page), message)
        self.assert_finds(self.examples(self.page, self.test_file + "// [twice]\n"), "3 lines")

    def test_no_examples_is_no_pass(self):
        self.assert_finds(self.examples("Text.\n"), "nothing was checked")


class Run(lint_case):
    """The script that runs them all, in a small repository of its own."""

    def setUp(self):
        super().setUp()
        shutil.copytree(here, self.path("tools/lint"), ignore=shutil.ignore_patterns("__pycache__"))
        for name in (".clang-format", ".clang-tidy"):
            shutil.copy(os.path.join(repository, name), self.dir)
        self.write("src/base/good.cpp", "int twice(int x) { return 2 * x; }\n")
        self.shell("git", "init", "-q")

    def run_lint(self, *options):
        done = subprocess.run([self.path("tools/lint/run"), *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def database(self, *names, options=()):
        entries = [{"directory": self.dir, "file": name, "command": f"clang++ -std=c++20 -Isrc -c {name}"}
                   for name in names]
        self.write("db/compile_commands.json", json.dumps(entries))
        return self.run_lint("--only", "tidy", "--tidy-db", self.path("db"), *options)

    def test_format_fails_on_a_bad_file_and_fix_format_mends_it(self):
        self.assertEqual(self.run_lint("--only", "format"), (0, "lint: format ... ok\n"))
        bad = self.write("src/base/bad.hpp", "int  *p ;\n")
        self.assert_finds(self.run_lint("--only", "format"), "src/base/bad.hpp:1:", "lint: failed: format")
        self.assertEqual(self.run_lint("--fix-format")[0], 0)
        self.assertEqual(self.run_lint("--only", "format")[0], 0)
        with open(bad, encoding="utf-8") as file:
            self.assertEqual(file.read(), "int* p;\n")

    def test_includes_are_sorted_in_blocks(self):
        sorted_text = ('#include "base/own.hpp"\n\n#include "base/a.hpp"\n\n'
                       "#include <weft/b.hpp>\n\n#include <vector>\n")
        path = self.write("src/base/own_test.cpp", '#include <vector>\n#include "base/a.hpp"\n'
                                                   '#include <weft/b.hpp>\n#include "base/own.hpp"\n')
        self.assertEqual(self.run_lint("--fix-format")[0], 0)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), sorted_text)

    def test_shell_and_python_scripts_are_checked(self):
        self.assertEqual(self.run_lint("--only", "shell,python"), (0, "lint: shell ... ok\nlint: python ... ok\n"))
        self.write("script", "#!/usr/bin/env bash\nrm $1\n")
        self.write("tool.py", "def f(:\n")
        found = self.run_lint("--only", "shell,python,format")
        self.assert_finds(found, "SC2086", "tool.py:1:", "lint: format ... ok", "lint: failed: shell python")
        self.assertFalse(os.path.exists(self.path("tools/lint/__pycache__")))

    def test_clang_tidy_finds_names_and_mistakes_once_and_only_in_our_files(self):
        self.assertEqual(self.database("src/base/good.cpp"), (0, "lint: tidy ... ok\n"))
        self.write("src/base/bad.hpp", "class BadName {};\n")
        bad = ('#include "base/bad.hpp"\n#include <utility>\n'
               "template <class T> T take(T&& t) { return std::move(t); }\n")
        names = ("src/base/one.cpp", "src/base/two.cpp", "elsewhere/three.cpp")
        for name in names:
            self.write(name, bad)
        code, out = self.database(*names)
        self.assertEqual(code, 1, out)
        self.assertEqual(out.count("invalid case style for class 'BadName'"), 1, out)
        self.assertIn("src/base/two.cpp:3:", out)
        self.assertIn("bugprone-move-forwarding-reference", out)
        self.assertNotIn("elsewhere", out)
        self.assert_finds(self.database("elsewhere/three.cpp"), "nothing was checked")

    def test_a_quick_clang_tidy_leaves_tests_out_and_reads_headers(self):
        self.write("src/base/bad_test.cpp", "class AnotherName {};\n")
        names = ("src/base/good.cpp", "src/base/bad_test.cpp")
        self.assert_finds(self.database(*names), "AnotherName")
        self.assertEqual(self.database(*names, options=("--quick",)), (0, "lint: tidy ... ok\n"))
        self.write("src/base/bad.hpp", "class BadName {};\n")
        self.assert_finds(self.database(*names, options=("--quick",)), "src/base/bad.hpp:1:", "BadName")

    def test_missing_inputs_fail(self):
        found = self.run_lint("--only", "tidy,tls,notes")
        self.assert_finds(found, "no compile database", "no library to look at", "lint: failed: tidy tls notes")

    def test_a_build_folder_gives_the_archive(self):
        self.write("build/note", "")
        source = self.write("x.cpp", plain_thread_local)
        self.shell("g++", "-c", source, "-o", self.path("x.o"))
        self.shell("ar", "rcs", self.path("build/libweft.a"), self.path("x.o"))
        self.assert_finds(self.run_lint("--only", "tls", "--build", self.path("build")), "libweft.a(x.o)", "read_x()")

    def test_wrong_options_are_refused_in_one_sentence(self):
        cases = [["--nope"], ["--only", "nope"], ["--only"], ["--build", "/no/such/folder"], ["stray"]]
        for options in cases:
            with self.subTest(options):
                code, out = self.run_lint(*options)
                self.assertEqual(code, 2, out)
                self.assertEqual(out.count("\n"), 1, out)
                self.assertTrue(out.startswith("tools/lint/run: "), out)


if __name__ == "__main__":
    unittest.main(verbosity=2)  # says why a sample was skipped
