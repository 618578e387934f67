# SPDX-License-Identifier: Apache-2.0
"""catalogue — functions of the C library that a task should not call, and what to do instead."""

LOCKS = {
    "pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock", "pthread_rwlock_rdlock",
    "pthread_rwlock_wrlock", "pthread_rwlock_timedrdlock", "pthread_rwlock_timedwrlock", "pthread_spin_lock",
    "mtx_lock", "mtx_timedlock",
}  # fmt: skip

WAITS = {
    "pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_barrier_wait", "pthread_join",
    "pthread_timedjoin_np", "sem_wait", "sem_timedwait", "sem_clockwait", "cnd_wait", "cnd_timedwait", "thrd_join",
    "_ZNSt6thread4joinEv", "_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE",
}  # fmt: skip

SLEEPS = {"sleep", "usleep", "nanosleep", "clock_nanosleep", "pause", "sigsuspend", "sigwait", "sigwaitinfo", "sigtimedwait",
          "thrd_sleep"}  # fmt: skip

BLOCKS = {
    "read", "readv", "pread", "pread64", "preadv", "recv", "recvfrom", "recvmsg", "recvmmsg", "accept", "accept4", "connect",
    "write", "writev", "pwrite", "pwrite64", "send", "sendto", "sendmsg", "sendfile", "sendfile64", "splice",
    "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "io_uring_enter",
    "getaddrinfo", "gethostbyname", "gethostbyname_r", "getnameinfo",
    "fsync", "fdatasync", "msync", "sync", "syncfs", "flock", "lockf", "open", "open64", "openat", "fopen", "fopen64",
    "fread", "fgets", "getline", "getc", "fgetc", "getchar", "wait", "wait3", "wait4", "waitpid", "waitid", "system", "popen",
    "pclose", "msgrcv", "msgsnd", "mq_receive", "mq_send", "semop", "dlopen",
}  # fmt: skip

THREAD_LOCAL = {"__tls_get_addr", "__cxa_thread_atexit", "__cxa_thread_atexit_impl", "pthread_getspecific", "pthread_setspecific",
                "tss_get", "tss_set"}  # fmt: skip

KINDS = {
    "locks of the system": (
        LOCKS,
        "short and without a wait in between they are fine; a task that waits while it holds one can block all workers "
        "(a build with WEFT_CHECK=ON reports where that happens)",
    ),
    "waits for threads": (WAITS, "they block a whole worker until somebody else comes; use weft's handles, or weft::blocking()"),
    "sleeps": (SLEEPS, "they put a whole worker to sleep; use weft::this_fiber::sleep_for()"),
    "calls that may block": (BLOCKS, "sysmon replaces a worker that is blocked; call it by weft::blocking() where it may take long"),
    "thread-local variables": (
        THREAD_LOCAL,
        "after a wait a task may be on another thread, which has others; use weft::fiber_local, or a weft::pin_guard",
    ),
}
