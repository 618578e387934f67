/* SPDX-License-Identifier: Apache-2.0
 *
 * idle — who searches, who sleeps, who wakes whom: the protocol of src/sched/idle.hpp, in all states of small cases.
 *
 * Pushers put items into queues of their own and look; workers search, take one item each, sleep. A task does not end
 * before every item has been started: so it is not enough that each item is taken some day, it must be taken while the
 * others run (no item waits while a worker sleeps). When nothing can move any more, the watcher demands that all items
 * were started.
 *
 * A push is a store that other processors see later: it goes into `stored`, and on to `visible` whenever it likes, or at
 * a heavy barrier. Nothing else drains it, not even the pusher's own read-modify-writes: that is weaker than any
 * processor. SYMMETRIC is the fall-back without membarrier(2), where the light barrier drains.
 *
 * One read-modify-write of the word is one d_step or atomic here. README.md lists the switches.
 */

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef BOUND
#define BOUND 1 /* how many may search of their own accord */
#endif
#ifndef PUSHERS
#define PUSHERS 2
#endif
#ifndef PUSHES
#define PUSHES 1 /* by each pusher */
#endif
#ifndef BATCH
#define BATCH 1 /* items in a push */
#endif
#ifndef EVENTS
#define EVENTS 0 /* items that the event loop hands to one who sleeps */
#endif
#ifndef LEAVERS
#define LEAVERS 0 /* how many workers leave for good when they are woken */
#endif
#ifndef DEADLINES
#define DEADLINES 0 /* how many sleeps end at a deadline */
#endif
#define EVENT_QUEUE PUSHERS
#define QUEUES (PUSHERS + 1)
#define TOTAL (PUSHERS * PUSHES * BATCH + EVENTS)

/* The word. */
byte searching = 0;
byte sleeping = 0;
bool debt = false;   /* somebody relies on those who search */
bool closed = false; /* nobody sleeps any more */
#define alert (sleeping > 0 && !debt && !closed)

bool bed[WORKERS];   /* the sleeper set: this one may be woken */
bool token[WORKERS]; /* the parker's */
byte stored[QUEUES];
byte visible[QUEUES];
byte events = EVENTS;
byte started = 0;
byte leavers = LEAVERS;
byte deadlines = DEADLINES;
byte overdue = 0; /* sleepers whose deadline has passed */
byte gone = 0; /* workers that have ended */
#if defined(COUNT) || defined(LONE)
byte woken = 0;
#endif

inline leave_debt() {
#ifdef SLEEPER_LEAVES_NO_DEBT
  skip
#else
  debt = true
#endif
}

/* A sleep ends; so does the waiting for it. */
inline in_time() {
  if
  :: late ->
     late = false;
     overdue--
  :: else -> skip
  fi
}

inline drain(q) {
  visible[q] = visible[q] + stored[q];
  stored[q] = 0
}

inline heavy_barrier() {
#if !defined(NO_HEAVY_BARRIER) && !defined(SYMMETRIC)
  d_step {
    q = 0;
    do
    :: q < QUEUES ->
       drain(q);
       q++
    :: else -> break
    od;
    q = 0
  }
#else
  skip
#endif
}

/* Whoever has promised to wake a sleeper wins one, any, by clearing its bit, and gives it a token. */
inline wake_one() {
  atomic {
    if
    :: bed[0] -> who = 0
    :: bed[1] -> who = 1
#if WORKERS > 2
    :: bed[2] -> who = 2
#endif
#if WORKERS > 3
    :: bed[3] -> who = 3
#endif
    :: else -> assert(false) /* SS1: a sleeper was promised, and there is none */
    fi;
    bed[who] = false
  }
  d_step {
    token[who] = true;
    who = 0
#if defined(COUNT) || defined(LONE)
    ;woken++
#endif
  }
}

/* after_push(n), for a push into q. */
inline look_after_push(q, n) {
#ifdef SYMMETRIC
  d_step { drain(q) }
#endif
#ifdef PUSHER_DOES_NOT_LOOK
  skip
#else
  if
  :: alert ->
     d_step {
       if
       :: alert && searching == 0 ->
          searching++;
          sleeping--;
          debt = n > 1;
          promised = true
#ifndef PUSHER_LEAVES_NO_DEBT
       :: alert && searching > 0 -> debt = true
#endif
       :: else -> skip
       fi
     }
     if
     :: promised ->
        promised = false;
#ifdef LONE
        d_step { drain(q) } /* who takes a token sees what its giver did; where wakings are counted, that matters */
#endif
        wake_one()
     :: else -> skip
     fi
  :: else -> skip
  fi
#endif
}

proctype pusher(byte me) {
  byte n = 0, who = 0;
  bool promised = false;
  do
  :: n < PUSHES ->
#ifdef LONE
     sleeping == WORKERS && searching == 0; /* everybody sleeps: this push stands alone */
#endif
#ifdef PUSHER_LOOKS_BEFORE
     look_after_push(me, BATCH);
     stored[me] = stored[me] + BATCH;
#else
     stored[me] = stored[me] + BATCH;
     look_after_push(me, BATCH);
#endif
     n++
  :: else -> break
  od
}

proctype worker(byte me) {
  byte who = 0, q = 0;
  bool searches = false, promised = false, got = false, late = false;

out_of_work:
  atomic {
    if
    :: searching < BOUND ->
       searching++;
       searches = true
    :: else -> goto go_to_bed
    fi
  }

search:
  do
  :: q < QUEUES ->
     d_step {
       if
       :: visible[q] > 0 ->
          visible[q]--;
          got = true;
          q = QUEUES
       :: else -> q++
       fi
     }
  :: else -> break
  od;
  q = 0;
  if
  :: got -> skip
  :: else -> goto go_to_bed
  fi;

  /* found_work(): the last searcher pays the debt, by handing its place to a sleeper. */
stop_searching:
  atomic {
    searches = false;
    searching--;
#ifndef LEAVER_TELLS_NOBODY
    if
    :: !got -> debt = true /* it leaves */
    :: else -> skip
    fi;
#endif
    if
    :: searching == 0 ->
#ifdef FINDER_ALWAYS_WAKES
       debt = true;
#endif
#ifdef FINDER_WAKES_NOBODY
       debt = false
#else
       if
       :: debt && sleeping > 0 ->
          searching++;
          sleeping--;
          promised = true
       :: else -> debt = false
       fi
#endif
    :: else -> skip
    fi
  }
  if
  :: promised ->
     promised = false;
     wake_one()
  :: else -> skip
  fi;
  if
  :: got -> got = false
  :: else -> goto done
  fi;
  started++;
#ifndef LONE
end_running:
  (started == TOTAL || closed);
#endif
  goto out_of_work;

go_to_bed:
  bed[me] = true;
  atomic {
    if
    :: closed -> goto done
    :: else -> skip
    fi;
    sleeping++;
    if
    :: searches && searching > 1 -> /* another searches: it is relied on */
       searching--;
       searches = false;
       leave_debt()
    :: !searches && searching > 0 -> leave_debt()
    :: else -> /* the last searcher, now if not before */
       searching = 1;
       searches = true;
       debt = false
    fi
  }
  if
  :: !searches -> goto end_asleep
  :: else -> skip
  fi;

  /* Drowsy: counted as searching and as sleeping, for one last look. */
  heavy_barrier();
#ifndef LAST_DOES_NOT_LOOK
  do
  :: q < QUEUES && visible[q] > 0 ->
     got = true;
     break
  :: q < QUEUES && visible[q] == 0 -> q++
  :: q == QUEUES -> break
  od;
  q = 0;
#endif
  d_step {
    if
    :: (got || debt) && sleeping > 0 -> /* get up, as a searcher */
       sleeping--;
       promised = true;
#ifndef LAST_LOOK_LEAVES_NO_DEBT
       debt = true
#endif
    :: (got || debt) && sleeping == 0 -> /* our waking is promised: the searcher that goes with it is relied on */
       assert(searching > 1);
       searching--;
       searches = false;
       leave_debt()
    :: else ->
       searching--;
       searches = false;
       if
       :: searching > 0 -> leave_debt()
       :: else -> skip
       fi
    fi;
    got = false
  }
  if
  :: promised -> goto leave_bed
  :: else -> skip
  fi;

end_asleep:
  if
  :: atomic {
       token[me] -> token[me] = false;
       in_time();
       if
       :: closed -> goto done
       :: else -> searches = true
       fi
     }
     if
     :: d_step { leavers > 0 -> leavers-- }
        goto stop_searching
     :: goto search
     fi
  :: atomic { deadlines > 0 && !late -> deadlines--; late = true; overdue++ }
     goto rise
  :: d_step { events > 0 -> events--; visible[EVENT_QUEUE]++ }
  fi;

  /* The event loop has handed us something, and it is in our queue: get up, unless our waking is promised. */
  d_step {
    if
    :: sleeping > 0 ->
       sleeping--;
       searching++;
       searches = true;
       promised = true
    :: else -> skip
    fi
  }
  if
  :: promised -> skip
  :: else ->
     look_after_push(EVENT_QUEUE, 1);
     goto end_asleep
  fi;

leave_bed:
  promised = false;
  if
  :: d_step { bed[me] -> bed[me] = false; in_time() }
     goto search
  :: else -> /* somebody has won our bit: a token comes, and a place among the searchers; this one goes to another */
     searches = false;
     wake_one();
     goto end_asleep
  fi;

  /* A deadline has passed: get up, unless a token is on the way. If all that are counted are promised, but nobody has won
   * our bit, wait: somebody will, or another will be counted who was won in our place. */
rise:
  atomic {
#ifndef DEADLINE_TRUSTS_THE_COUNT
    (closed || !bed[me] || sleeping > 0);
#endif
    if
    :: closed || !bed[me] || sleeping == 0 -> goto end_asleep
    :: else ->
       sleeping--;
       searching++;
       searches = true;
       promised = true;
       goto leave_bed
    fi
  }

done:
  gone++
}

/* Stores reach memory some day. */
active proctype memory() {
end_drained:
  do
  :: d_step { stored[0] > 0 -> drain(0) }
#if PUSHERS > 1
  :: d_step { stored[1] > 0 -> drain(1) }
#endif
  od
}

#ifdef SHUTDOWN
active proctype stopper() {
  byte n = 0;
#ifndef CLOSES_AFTER_WAKING
  closed = true;
#endif
#ifndef SHUTDOWN_WAKES_NOBODY
  do
  :: n < WORKERS ->
     token[n] = true;
     n++
  :: else -> break
  od;
#endif
  closed = true
}
#endif

active proctype watcher() {
end_watching:
  timeout;
#ifdef SHUTDOWN
  assert(gone == WORKERS)
#else
  assert(started == TOTAL);
  assert(overdue == 0)
#endif
#ifdef LONE
  ;assert(woken == PUSHERS * PUSHES)
#endif
#ifdef COUNT
  ;assert(woken <= 2 * TOTAL)
#endif
}

init {
  byte n = 0;
  atomic {
    do
    :: n < WORKERS ->
       run worker(n);
       n++
    :: else -> break
    od;
    n = 0;
    do
    :: n < PUSHERS ->
       run pusher(n);
       n++
    :: else -> break
    od
  }
}
