# SPDX-License-Identifier: Apache-2.0
"""The workloads, their systems and their bars.

A new workload is a new entry here and one program per system; README.md, "Adding a workload", says how. The entries
stand in the order in which they are run and shown.
"""

from harness.model import BEST_PEER, WEFT, Bar, System, Workload

CROSSBEAM = System("crossbeam", "bench_deque_crossbeam", packages=("cargo", "librust-crossbeam-deque-dev"),
                   version_command=("dpkg-query", "-W", "-f", "${Version}", "librust-crossbeam-deque-dev"))

TBB = ("libtbb-dev",)
GO = ("golang-go",)
BOOST_FIBER = ("libboost-fiber-dev",)
OPENMP = ("g++",)  # libgomp comes with it


def rust(name: str, program: str, **more) -> System:
    """A system that is a Rust crate of the same name."""
    package = f"librust-{name}-dev"
    return System(name, program, packages=("cargo", package),
                  version_command=("dpkg-query", "-W", "-f", "${Version}", package), **more)


# What weft does, and what it might do instead: the same two workers, with other ways of moving work between them.
MOVING_WORK = (
    System(WEFT, "bench_stealing_weft"),
    System("asking", "bench_stealing_asking"),
    System("claiming", "bench_stealing_claiming"),
    System("one a steal", "bench_stealing_single_membarrier"),
    System("one a steal, fences", "bench_stealing_single_fences"),
)

def ways(*names: str) -> tuple[System, ...]:
    """weft as it is, and made in other ways: one source, compiled for each of them."""
    return tuple(System(name, f"bench_ways_{name.replace(' ', '_')}") for name in (WEFT, *names))


def fork_join(variant: str, suffix: str) -> tuple[System, ...]:
    """Who takes part in a variant of A: all were compiled for it."""
    return (
        System(WEFT, f"bench_fib_weft{suffix}", variants=(variant,)),
        rust("rayon", f"bench_fib_rayon{suffix}", variants=(variant,)),
        System("oneTBB", f"bench_fib_tbb{suffix}", packages=TBB, variants=(variant,)),
        System("OpenMP", f"bench_fib_openmp{suffix}", packages=OPENMP, variants=(variant,)),
        System("serial", f"bench_fib_serial{suffix}", variants=(variant,), threads=(1,), is_peer=False),
    )


# A page each, and what says where they are.
MILLION_STACKS = 5 << 30

WORKLOADS = (
    Workload(
        id="A",
        title="fib(38) by join, no cut-off",
        unit="ns",
        variants=("plain", "native"),  # native: compiled for the machine at hand; for information, no bar
        systems=fork_join("plain", "") + fork_join("native", "_native"),
        bars=(
            Bar(0.35, "rayon", variants=("plain",)),  # heading for 2.0 ns at one thread, 1.0 at two
            # S2-128: it scales up to the number of cores. With two cores two are shown, and no more.
            Bar(0.55, WEFT, variants=("plain",), threads=(2,), of_threads=1),
        ),
    ),
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
        id="B2",
        title="two fibers yield to each other through the scheduler, one worker",
        unit="ns",
        variants=("one site", "two sites", "deep"),  # compare/yield/config.hpp says what each is; deep has no bar
        threads=(1,),
        fixed_threads=True,
        systems=(
            System(WEFT, "bench_yield_weft"),
            System("Go", "bench_yield_go", packages=GO),
            System("boost.fiber", "bench_yield_boost_fiber", packages=BOOST_FIBER),
            rust("tokio", "bench_yield_tokio"),
        ),
        bars=(
            Bar(0.30, "Go", variants=("one site", "two sites")),  # heading for 8 ns at one site
            Bar(1000, None),  # S2-122: a switch takes less than 1 us
        ),
    ),
    Workload(
        id="C",
        title="children spawned by one task, then awaited",
        unit="ns",
        variants=("million", "300 ns", "bursts"),  # compare/spawn/config.hpp says what each is
        median_variants=("bursts",),
        systems=(
            System(WEFT, "bench_spawn_weft"),
            System("weft, handles", "bench_spawn_weft_handles", is_peer=False),
            rust("rayon", "bench_spawn_rayon"),
            rust("tokio", "bench_spawn_tokio"),
            System("Go", "bench_spawn_go", packages=GO),
            System("oneTBB", "bench_spawn_tbb", packages=TBB),
            System("OpenMP", "bench_spawn_openmp", packages=OPENMP),
        ),
        bars=(
            Bar(0.30, "rayon", variants=("million",), threads=(1,)),  # heading for 13 ns
            Bar(0.12, "rayon", variants=("million",), threads=(2,)),  # heading for 8 ns
            Bar(1.0, WEFT, variants=("million",), threads=(2,), of_threads=1),
            Bar(1000, None, variants=("million",)),  # S2-123: more than a million spawns a second
            Bar(0.6, WEFT, variants=("300 ns",), threads=(2,), of_threads=1),
            Bar(2.0, WEFT, variants=("bursts",), threads=(2,), of_threads=1),
        ),
    ),
    Workload(
        id="D1",
        title="skynet by join: a tree of a million leaves, ten children a node",
        unit="ns",
        systems=(
            System(WEFT, "bench_skynet_weft"),
            System("oneTBB", "bench_skynet_tbb", packages=TBB),
            rust("rayon", "bench_skynet_rayon"),
            System("OpenMP", "bench_skynet_openmp", packages=OPENMP),
        ),
        bars=(Bar(0.50, "oneTBB"),),
    ),
    Workload(
        id="E1",
        title="resident bytes a fiber, of a million that wait",
        unit="bytes",
        variants=("parked", "32 KB used"),  # compare/park/config.hpp says what each is
        threads=(1,),
        fixed_threads=True,
        timeout_s=120,
        systems=(
            System(WEFT, "bench_park_weft"),
            System("Go", "bench_park_go", packages=GO),
            System("boost.fiber", "bench_park_boost_fiber", packages=BOOST_FIBER),
            rust("tokio", "bench_park_tokio", variants=("parked",)),
        ),
        bars=(
            Bar(4700, None, variants=("parked",)),  # so also S2-124, less than 16 KB, and S2-126, a million tasks
            Bar(1.2, WEFT, variants=("32 KB used",), of_variant="parked"),
        ),
    ),
    Workload(
        id="E2",
        title="time to spawn a million fibers until all of them wait",
        unit="ns",
        memory=MILLION_STACKS,
        threads=(1,),
        fixed_threads=True,
        timeout_s=120,
        systems=(
            System(WEFT, "bench_park_weft"),
            System("Go", "bench_park_go", packages=GO),
            System("boost.fiber", "bench_park_boost_fiber", packages=BOOST_FIBER),
            rust("tokio", "bench_park_tokio"),
        ),
        bars=(Bar(1.2, "Go"),),
    ),
    Workload(
        id="I",
        title="a million fibers that sleep for 0 to 1000 ms",
        unit="s",
        memory=MILLION_STACKS,
        variants=("wall", "CPU"),
        threads=(2,),
        fixed_threads=True,
        systems=(
            System(WEFT, "bench_sleep_weft"),
            System("Go", "bench_sleep_go", packages=GO),
            rust("tokio", "bench_sleep_tokio"),
        ),
        bars=(Bar(1.0, "Go", variants=("wall",)), Bar(0.8, "Go", variants=("CPU",))),
    ),
    Workload(
        id="L1",
        title="the owner of a deque pushes and pops a task of 24 bytes",
        unit="ns",
        variants=(
            "push-pop",  # above tasks that stay
            "last",  # on an empty deque, so that each pop competes with thieves
        ),
        threads=(1,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_deque_weft"), CROSSBEAM),
        bars=(
            Bar(20, None),  # Loom's promise: a spawn from a worker takes 5 to 20 ns
            Bar(0.3, "crossbeam", variants=("push-pop",)),
            Bar(0.6, "crossbeam", variants=("last",)),
        ),
    ),
    Workload(
        id="L2",
        title="push at one end, steal at the other, nobody else about",
        unit="ns",
        variants=(
            "asymmetric",  # a system call a steal: the price of an owner that pays nothing; for information, no bar
            "symmetric",
        ),
        threads=(1,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_deque_weft"), CROSSBEAM),
        bars=(Bar(1.0, "crossbeam", variants=("symmetric",)),),
    ),
    Workload(
        id="L3",
        title="the owner pushes and pops, a thief steals a task of 10 us at a time",
        unit="ns",
        variants=("asymmetric", "symmetric"),
        threads=(2,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_deque_weft"), CROSSBEAM),
        bars=(Bar(0.6, "crossbeam", variants=("asymmetric",)), Bar(1.0, "crossbeam", variants=("symmetric",))),
    ),
    Workload(
        id="L4",
        title="a channel made of deques: send and receive",
        unit="ns",
        variants=(
            "local",  # by one worker
            "outside",  # by another thread to a worker, through the global queue
        ),
        threads=(1,),
        fixed_threads=True,
        systems=(
            System(WEFT, "bench_deque_weft"),
            CROSSBEAM,
            # Its concurrent_queue; it has nothing like the rest.
            System("oneTBB", "bench_deque_tbb", packages=("libtbb-dev",), variants=("outside",)),
        ),
        bars=(
            Bar(50, None),  # Loom's promise: to receive a task takes 10 to 50 ns
            Bar(0.35, "crossbeam", variants=("local",)),
            Bar(1.0, BEST_PEER, variants=("outside",)),
        ),
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
    Workload(
        id="R1",
        title="1,000 children one after the other, while 100 tasks block their threads for 20 ms (for information)",
        unit="us",
        variants=("plain", "told"),  # compare/blockers/config.hpp says what each is
        threads=(2,),  # whoever asks weft for one worker wants tasks to take turns: it gets no other in its place
        systems=(
            System(WEFT, "bench_blockers_weft"),
            System("Go", "bench_blockers_go", packages=GO),
            rust("tokio", "bench_blockers_tokio"),
        ),
    ),
    Workload(
        id="R2",
        title="one of 1,000 fibers that wait is woken, answers and waits again (for information)",
        unit="us",
        systems=(
            System(WEFT, "bench_wake_one_weft"),
            System("Go", "bench_wake_one_go", packages=GO),
            rust("tokio", "bench_wake_one_tokio"),
        ),
    ),
    Workload(
        id="R3",
        title="a sleeper's lateness beside tasks that compute for 50 ms at a time (for information)",
        unit="us",
        variants=("median", "worst"),
        threads=(2,),
        systems=(
            System(WEFT, "bench_neighbour_weft"),
            System("weft, own context", "bench_neighbour_weft_own_context", is_peer=False),
            System("Go", "bench_neighbour_go", packages=GO),
            rust("tokio", "bench_neighbour_tokio"),
        ),
    ),
    Workload(
        id="S1",
        title="until a task that one worker has spawned begins on another",
        unit="us",
        variants=("forking", "busy", "asleep"),  # compare/seed/weft.cpp says what each is
        threads=(2,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_seed_weft"),),
        bars=(Bar(10, None, variants=("forking",)),),  # S2-125: less than 10 us
    ),
    Workload(
        id="S2",
        title="256 workers: started, a task on each at the same time, ended",  # S2-127
        unit="ms",
        threads=(1,),
        fixed_threads=True,
        systems=(System(WEFT, "bench_seed_weft"),),
    ),
    Workload(
        id="V1",
        title="C by where a fresh task goes and who comes for it (for information)",  # S3-45..48
        unit="ns",
        variants=("million", "300 ns", "bursts"),
        median_variants=("bursts",),
        systems=ways("one queue", "no stealing", "nobody woken", "in turn"),
    ),
    Workload(
        id="V2",
        title="C by how a worker without work looks around before it sleeps (for information)",  # S1-140
        unit="ns",
        variants=("million", "300 ns", "bursts"),
        median_variants=("bursts",),
        threads=(2,),  # one has nobody to look around for
        systems=ways("low latency", "balanced", "power saving"),
    ),
    Workload(
        id="V3",
        title="C by runtimes that behave as other schedulers do (for information)",
        unit="ns",
        variants=("million", "300 ns", "bursts"),
        median_variants=("bursts",),
        systems=ways("lune", "loom", "janus", "cc", "crystal"),
    ),
    Workload(
        id="W1",
        title="tasks of one worker, finished by two",
        unit="ns",
        variants=("trivial", "medium", "bursts", "few", "busy-owner"),  # compare/stealing/config.hpp says what each is
        fixed_threads=True,
        systems=MOVING_WORK,
        bars=(
            Bar(1.0, WEFT, variants=("trivial", "few", "busy-owner"), threads=(2,), of_threads=1),
            Bar(0.6, WEFT, variants=("medium",), threads=(2,), of_threads=1),
            Bar(2.0, WEFT, variants=("bursts",), threads=(2,), of_threads=1),
        ),
    ),
    Workload(
        id="W2",
        title="the owner is busy: time until another worker has some of its tasks",
        unit="us",
        threads=(2,),
        fixed_threads=True,
        systems=MOVING_WORK,
        bars=(Bar(60, None),),
    ),
    Workload(
        id="W3",
        title="fork-join without a cut-off, again and again",
        unit="ns",
        variants=("fib15", "fib20", "fib25"),  # 4, 40 and 450 us on one thread
        fixed_threads=True,
        systems=MOVING_WORK[:3],  # those that can take back what nobody stole
        bars=(
            Bar(0.75, WEFT, variants=("fib20", "fib25"), threads=(2,), of_threads=1),
            Bar(1.25, WEFT, variants=("fib15",), threads=(2,), of_threads=1),
        ),
    ),
)
