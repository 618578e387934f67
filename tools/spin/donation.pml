/* SPDX-License-Identifier: Apache-2.0
 *
 * donation — work that leaves a worker's deque at its old end: given by the owner, or claimed by a thief.
 *
 * The owner pushes and pops at the new end of a ring. A hungry thief hands it a parcel, by a compare-exchange of the
 * request; the owner takes the request by an exchange and fills the parcel; the thief may withdraw the request by a
 * compare-exchange, as long as the owner has not taken it. Or the thief claims some of the oldest: it writes
 * its claim into the word that says where the deque begins, passes a heavy barrier, looks how many are there, copies
 * them, and settles the claim. Whoever the claim is in the way of replaces the word, and then it cannot be settled.
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
#define ROUNDS 1 /* what each thief tries, in any order: to ask, to claim */
#endif
#define FIRST 1 /* indices begin here, so that the one before exists */
#define nobody 0

/* The word at the old end: the oldest, how many are claimed from there on, and by whom. */
byte head = FIRST;
byte claimed = 0;
byte claimant = nobody;

byte end_seen = FIRST; /* the new end, as others see it */
byte end_own = FIRST;  /* as the owner has stored it */
byte ring[CAPACITY];
byte request = nobody; /* whose parcel the owner may fill */
bool away[THIEVES];    /* the parcel has not come back */
byte parcel[THIEVES];  /* what is in it: 0, or an item and, shifted, a second one */
byte runs[ITEMS];

#define thief_name (me + 1)
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

#ifdef CLAIM_IS_NOT_TAGGED
#define word_is(h, n, w) (head == (h) && claimed == (n))
#else
#define word_is(h, n, w) (head == (h) && claimed == (n) && claimant == (w))
#endif

#ifdef SLOTS_ARE_REUSED_TOO_SOON
#define first_kept (head + claimed)
#else
#define first_kept head
#endif

active proctype owner() {
  byte next = 1, at = 0, h = 0, n = 0, w = 0, whose = 0, loot = 0;

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
     d_step {
       h = head;
       n = claimed;
       w = claimant
     }
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
             claimant = nobody;
             n = 0
          :: else ->
             h = head;
             n = claimed;
             w = claimant
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

#ifdef DONOR_FILLS_WITHDRAWN_PARCEL
  :: d_step { request != nobody && end_own > head -> whose = request } /* answer */
#else
  :: d_step { request != nobody && end_own > head -> whose = request; request = nobody } /* answer */
#endif
     do
     :: d_step {
          h = head;
          n = claimed;
          w = claimant
        }
        if
        :: h == end_own ->
           loot = 0;
           break
        :: else -> skip
        fi;
        loot = ring[h % CAPACITY];
        if
        :: half(end_own - h) == 2 -> loot = loot | (ring[(h + 1) % CAPACITY] << 4)
        :: else -> skip
        fi;
        d_step {
          if
          :: word_is(h, n, w) ->
             head = h + half(end_own - h);
             claimed = 0;
             claimant = nobody;
             w = 255
          :: else -> skip
          fi
        }
        if
        :: w == 255 -> break
        :: else -> skip
        fi
     od;
#ifdef DONOR_FILLS_WITHDRAWN_PARCEL
     request = nobody;
#endif
     parcel[whose - 1] = loot;
     d_step {
       away[whose - 1] = false;
       loot = 0;
       whose = 0
     }
  od;

done:
  skip
}

inline run_parcel(p) {
  if
  :: first(p) != 0 -> execute(first(p))
  :: else -> skip
  fi;
  if
  :: second(p) != 0 -> execute(second(p))
  :: else -> skip
  fi;
  p = 0
}

proctype thief(byte me) {
  byte round = 0, h = 0, n = 0, w = 0, copied = 0, there = 0;

  do
  :: round < ROUNDS ->
     round++;
     if
     :: d_step { request == nobody -> request = thief_name; away[me] = true } /* ask, and wait or withdraw */
        if
        :: !away[me] -> run_parcel(parcel[me])
        :: d_step { request == thief_name -> request = nobody; away[me] = false }
        fi

     :: d_step { /* claim */
          h = head;
          n = claimed;
          w = claimant
        }
        /* A claim that stands may be broken: its thief may have lost its processor. */
        if
        :: end_seen > h ->
           there = half(end_seen - h);
           d_step {
             if
             :: word_is(h, n, w) ->
                claimed = there;
                claimant = thief_name;
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
              :: there < n -> copied = there
              :: else -> copied = n
              fi;
              there = 0;
              if
              :: copied > 0 -> there = ring[h % CAPACITY]
              :: else -> skip
              fi;
              if
              :: copied > 1 -> there = there | (ring[(h + 1) % CAPACITY] << 4)
              :: else -> skip
              fi;
              d_step { /* settle */
                if
                :: word_is(h, n, thief_name) ->
                   head = h + copied;
                   claimed = 0;
                   claimant = nobody
                :: else -> there = 0
                fi
              }
              run_parcel(there)
           fi
        :: else -> skip
        fi
     fi;
     d_step {
       h = 0;
       n = 0;
       w = 0;
       copied = 0;
       there = 0
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
