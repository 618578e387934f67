# SPDX-License-Identifier: Apache-2.0
"""The workloads, their systems and their bars.

A new workload is a new entry here and one program per system; README.md, "Adding a workload", says how. The entries
stand in the order in which they are run and shown.
"""

from harness.model import BEST_PEER, WEFT, Bar, System, Workload

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
    Workload(
        id="Q1",
        title="one runnable through a worker's inbox",
        unit="ns",
        variants=("one", "batch"),  # pushed and drained one by one; 64 pushed, drained together
        fixed_threads=True,  # two: one pushes, the other drains
        systems=(System(WEFT, "bench_inbox_weft"),),
    ),
    Workload(
        id="Q2",
        title="one runnable through the global queue",
        unit="ns",
        variants=("one", "batch"),  # taken one by one; as many at a time as the queue offers
        fixed_threads=True,  # two: one pushes, the other takes
        systems=(
            System(WEFT, "bench_global_queue_weft"),
            System("oneTBB", "bench_global_queue_tbb", packages=("libtbb-dev",)),
            System(
                "Injector",
                "bench_global_queue_injector",
                packages=("cargo", "librust-crossbeam-deque-dev"),
                version_command=("dpkg-query", "-W", "-f", "${Version}", "librust-crossbeam-deque-dev"),
            ),
            System(
                "SegQueue",
                "bench_global_queue_segqueue",
                packages=("cargo", "librust-crossbeam-queue-dev"),
                version_command=("dpkg-query", "-W", "-f", "${Version}", "librust-crossbeam-queue-dev"),
            ),
        ),
        bars=(Bar(1.0, BEST_PEER),),
    ),
    Workload(
        id="Q3",
        title="a task record got and given back",
        unit="ns",
        variants=("one", "burst"),  # one at a time; 64 got, 64 given back
        threads=(1,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_records_weft"), System("malloc", "bench_records_malloc")),
        bars=(Bar(0.5, "malloc"),),
    ),
    Workload(
        id="Q4",
        title="a task record got by one thread, given back by another",
        unit="ns",
        variants=("abroad",),
        threads=(2,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_records_weft"), System("malloc", "bench_records_malloc")),
        bars=(Bar(0.5, "malloc"),),
    ),
)
