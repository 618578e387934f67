/* SPDX-License-Identifier: Apache-2.0
 *
 * donation — work that leaves a worker's deque at its old end: granted by the owner, or claimed by a thief.
 *
 * The owner pushes and pops at the new end of a ring. One word says where the deque begins, which thief stands there, and
 * how many it has claimed. A thief writes its name into it: it asks. The owner answers by writing a claim for it; or the
 * thief loses patience and writes one itself, passes a heavy barrier, and looks how many are there. Then it copies
 * them and settles. All of these are compare-exchanges. Whoever a claim is in the way of replaces the word, and then
 * it cannot be settled: the owner when it needs what is claimed, another thief when it has waited for too long.
 *
 * The owner's store of its end is seen by others later, or at a heavy barrier. In the end every item was run exactly once.
 * README.md lists the switches.
 */

#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef ITEMS
#define ITEMS 3
#endif
#ifndef CAPACITY
#define CAPACITY 2
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* how often a thief comes */
#endif
#define FIRST 1 /* indices begin here, so that the one before exists */
#define nobody 0

/* The word at the old end: the oldest, who stands there, and how many it has claimed; 0 while it only asks. */
byte head = FIRST;
byte name = nobody;
byte claimed = 0;

byte end_seen = FIRST; /* the new end, as others see it */
byte end_own = FIRST;  /* as the owner has stored it */
byte ring[CAPACITY];
byte runs[ITEMS];

#define my_name (me + 1)
#define second(p) ((p) >> 4)
#define first(p) ((p) & 15)

inline execute(item) {
  d_step {
    runs[item - 1]++;
    assert(runs[item - 1] == 1)
  }
}

/* The first half of what is there, rounded up; two at most. */
#define half(n) ((n) > 2 -> 2 : 1)

#ifdef CLAIM_HAS_NO_NAME
#define word_is(h, n, w) (head == (h) && claimed == (n))
#else
#define word_is(h, n, w) (head == (h) && claimed == (n) && name == (w))
#endif

inline read_word() {
  d_step {
    h = head;
    n = claimed;
    w = name
  }
}

#ifdef SLOTS_ARE_REUSED_TOO_SOON
#define first_kept (head + claimed)
#else
#define first_kept head
#endif

active proctype owner() {
  byte next = 1, at = 0, h = 0, n = 0, w = 0;

  do
  :: next <= ITEMS && end_own - first_kept < CAPACITY -> /* push */
     ring[end_own % CAPACITY] = next;
     d_step {
       end_own++;
       next++
     }

  :: end_own > head || next > ITEMS -> /* pop */
     at = end_own - 1;
     end_own = at;
     /* light barrier: the store above may still be on its way */
     read_word();
     do
     :: at < h -> /* gone */
        end_own = h;
        break
#ifndef OWNER_IGNORES_CLAIMS
     :: at >= h && at < h + n -> /* claimed: revoke */
        d_step {
          if
          :: word_is(h, n, w) ->
             claimed = 0;
             name = nobody;
             n = 0
          :: else ->
             h = head;
             n = claimed;
             w = name
          fi
        }
     :: at >= h + n -> /* ours */
#else
     :: at >= h -> /* ours */
#endif
        execute(ring[at % CAPACITY]);
        break
     od;
     if
     :: at < h && next > ITEMS -> goto done
     :: else -> skip
     fi

  :: name != nobody && claimed == 0 && end_own > head -> /* answer */
     read_word();
     if
     :: w != nobody && n == 0 && end_own > h ->
        d_step {
          if
#ifndef GRANT_IS_A_STORE
          :: word_is(h, n, w) -> claimed = half(end_own - h)
          :: else -> skip
#else
          :: true ->
             head = h;
             name = w;
             claimed = half(end_own - h)
#endif
          fi
        }
     :: else -> skip
     fi
  od;

done:
  skip
}

inline run_loot() {
  if
  :: first(loot) != 0 -> execute(first(loot))
  :: else -> skip
  fi;
  if
  :: second(loot) != 0 -> execute(second(loot))
  :: else -> skip
  fi
}

/* Copies `count` of what is claimed from h on, settles, and runs them. */
inline take(count) {
  if
  :: count > 0 -> loot = ring[h % CAPACITY]
  :: else -> skip
  fi;
  if
  :: count > 1 -> loot = loot | (ring[(h + 1) % CAPACITY] << 4)
  :: else -> skip
  fi;
  d_step {
    if
    :: word_is(h, n, my_name) ->
       head = h + count;
       claimed = 0;
       name = nobody
    :: else -> loot = 0 /* revoked */
    fi
  }
  run_loot()
}

proctype thief(byte me) {
  byte round = 0, h = 0, n = 0, w = 0, there = 0, loot = 0;

  do
  :: round < ROUNDS ->
     round++;
     d_step { /* ask; whoever stands there may have lost its processor, and is put aside */
       name = my_name;
       claimed = 0
     }
     read_word();
     do
     :: w == my_name && n > 0 -> /* granted */
        take(n);
        break
     :: w == my_name && n == 0 -> /* wait */
        read_word()
     :: w == my_name && n == 0 -> /* withdraw, and give up what may have been granted */
        d_step {
          if
          :: name == my_name ->
             claimed = 0;
             name = nobody
          :: else -> skip
          fi
        }
        break
     :: w == my_name && n == 0 && end_seen > h -> /* lose patience */
        there = half(end_seen - h);
        d_step {
          if
          :: word_is(h, 0, my_name) ->
             claimed = there;
             n = there
          :: else -> n = 0
          fi
        }
        if
        :: n == 0 -> skip
        :: else ->
#ifndef NO_HEAVY_BARRIER
           end_seen = end_own;
#endif
           there = (end_seen > h -> end_seen - h : 0);
           if
           :: there > n -> there = n
           :: else -> skip
           fi;
           take(there)
        fi;
        break
     :: w != my_name -> break /* revoked, or put aside */
     od;
     skip; /* where break goes */
     d_step {
       h = 0;
       n = 0;
       w = 0;
       there = 0;
       loot = 0
     }
  :: else -> break
  od
}

/* The owner's stores reach memory some day. */
active proctype memory() {
end_drained:
  do
  :: end_seen != end_own -> end_seen = end_own
  od
}

active proctype watcher() {
  byte i = 0;
end_watching:
  timeout;
  do
  :: i < ITEMS ->
     assert(runs[i] == 1);
     i++
  :: else -> break
  od
}

init {
  byte n = 0;
  atomic {
    do
    :: n < THIEVES ->
       run thief(n);
       n++
    :: else -> break
    od
  }
}
