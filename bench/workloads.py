# SPDX-License-Identifier: Apache-2.0
"""The workloads, their systems and their bars.

A new workload is a new entry here and one program per system; README.md, "Adding a workload", says how. The entries
stand in the order in which they are run and shown.
"""

from harness.model import WEFT, Bar, System, Workload

WORKLOADS = (
    Workload(
        id="B1",
        title="raw switch between two stacks, one thread",
        unit="ns",
        variants=(
            "inline",  # the switch as the library offers it at its best
            "call",  # the same switch behind one out-of-line call; for information, no bar
        ),
        threads=(1,),
        fixed_threads=True,
        systems=(
            System(WEFT, "bench_switch_weft"),
            System("boost.context", "bench_switch_boost_context", packages=("libboost-context-dev",)),
        ),
        bars=(Bar(0.45, "boost.context", variants=("inline",)),),  # heading for 1.4 ns
    ),
)
