use std::iter::empty;

use proptest::prelude::*;
use uuid::Uuid;

use super::super::wanted::WantedTopic;
use super::*;

const SAFE_FOR: Duration = Duration::from_secs(120);
const LATER: Duration = Duration::from_secs(121);

fn want(partitions: i32) -> Vec<Wanted> {
    let topic = Arc::new(WantedTopic::new(Uuid::nil(), "t", false));
    let want = |partition| Wanted {
        topic: Arc::clone(&topic),
        partition,
        current_leader_epoch: -1,
        fetch_offset: 0,
        last_fetched_epoch: -1,
        bytes_max: 1,
    };
    (0..partitions).map(want).collect()
}

/// A cache whose clock is set by hand.
struct Cache {
    cache: SessionCache,
    now: Instant,
    number: i32,
}

impl Cache {
    fn new(sessions: usize, partitions: usize) -> Self {
        let limits = SessionLimits { sessions, partitions, safe_for: SAFE_FOR };
        Self { cache: SessionCache::new(limits), now: Instant::now(), number: 0 }
    }

    fn open(&mut self, connection: ConnectionId, partitions: i32) -> Option<i32> {
        let number = || {
            // Every other draw is one that may not be.
            self.number += 1;
            if self.number % 2 == 0 { self.number / 2 } else { -self.number / 2 }
        };
        let session = self.cache.open(connection, false, &want(partitions), self.now, number)?;
        let id = session.lock().id();
        assert!(id > 0);
        Some(id)
    }

    fn go_on(&mut self, id: i32, epoch: i32) -> Result<bool, ErrorCode> {
        let session = self.cache.go_on((id, epoch), false, Vec::new(), empty(), self.now)?;
        Ok(session.is_some())
    }

    fn check(&self) {
        let SessionCache { limits, sessions, replaceable, connections, partitions } = &self.cache;
        assert!(sessions.len() <= limits.sessions && *partitions <= limits.partitions);
        assert_eq!(sessions.iter().map(|(_, slot)| slot.session.lock().len()).sum::<usize>(), *partitions);
        for (size, id) in replaceable {
            assert_eq!(sessions.peek(id).map(|slot| slot.partitions), Some(*size));
        }
        for (id, slot) in sessions {
            assert_eq!(connections.get(&slot.connection).and_then(|fetches| fetches.session), Some(*id));
        }
        assert_eq!(connections.values().filter(|fetches| fetches.session.is_some()).count(), sessions.len());
    }
}

#[test]
fn a_connection_has_one_session() {
    let mut cache = Cache::new(2, 100);
    let (first, second) = (ConnectionId::next(), ConnectionId::next());
    let other = cache.open(second, 1).expect("there is room");
    let ids: Vec<_> = (0..10).map(|_| cache.open(first, 1).expect("it takes its own place")).collect();
    for id in &ids[..9] {
        assert_eq!(cache.go_on(*id, 1), Err(ErrorCode::FetchSessionIdNotFound));
    }
    assert_eq!(cache.go_on(ids[9], 1), Ok(true));
    assert_eq!(cache.go_on(other, 1), Ok(true));
    cache.check();
}

#[test]
fn a_session_ends_with_its_connection() {
    let mut cache = Cache::new(10, 100);
    let (first, second) = (ConnectionId::next(), ConnectionId::next());
    let (gone, stays) = (cache.open(first, 1).expect("room"), cache.open(second, 1).expect("room"));
    cache.cache.disconnected(first);
    cache.cache.begin_with(first, &want(1)[0]);
    assert_eq!(cache.go_on(gone, 1), Err(ErrorCode::FetchSessionIdNotFound));
    assert_eq!(cache.go_on(stays, 1), Ok(true));
    assert!(!cache.cache.connections.contains_key(&first), "nothing is kept of a connection that is gone");
    cache.check();
}

#[test]
fn a_full_cache_gives_up_what_was_not_used_for_long() {
    let mut cache = Cache::new(2, 100);
    let (oldest, newer) = (cache.open(ConnectionId::next(), 5), cache.open(ConnectionId::next(), 5));
    let (oldest, newer) = (oldest.expect("room"), newer.expect("room"));
    assert_eq!(cache.open(ConnectionId::next(), 9), None, "both are safe");
    cache.now += SAFE_FOR;
    assert_eq!(cache.open(ConnectionId::next(), 9), None, "and still are");
    assert_eq!(cache.go_on(oldest, 1), Ok(true));
    cache.now += Duration::from_secs(1);
    assert!(cache.open(ConnectionId::next(), 1).is_some(), "one is not");
    assert_eq!(cache.go_on(newer, 1), Err(ErrorCode::FetchSessionIdNotFound));
    assert_eq!(cache.go_on(oldest, 2), Ok(true));
    cache.check();
}

#[test]
fn a_larger_session_takes_the_place_of_the_smallest_that_had_its_time() {
    let mut cache = Cache::new(3, 100);
    let sizes = [5, 3, 4];
    let ids = sizes.map(|size| cache.open(ConnectionId::next(), size).expect("room"));
    cache.now += SAFE_FOR;
    for id in ids {
        assert_eq!(cache.go_on(id, 1), Ok(true));
    }
    assert_eq!(cache.open(ConnectionId::next(), 9), None, "they have not had their time yet");
    cache.now += Duration::from_secs(1);
    for id in ids {
        assert_eq!(cache.go_on(id, 2), Ok(true));
    }
    assert_eq!(cache.open(ConnectionId::next(), 3), None, "as large is not larger");
    let new = cache.open(ConnectionId::next(), 4).expect("larger");
    assert_eq!(cache.go_on(ids[1], 3), Err(ErrorCode::FetchSessionIdNotFound));
    for id in [ids[0], ids[2]] {
        assert_eq!(cache.go_on(id, 3), Ok(true));
    }
    assert_eq!(cache.go_on(new, 1), Ok(true));
    cache.check();
}

#[test]
fn a_session_without_partitions_is_closed() {
    let mut cache = Cache::new(2, 100);
    assert_eq!(cache.open(ConnectionId::next(), 0), None);
    let id = cache.open(ConnectionId::next(), 2).expect("room");
    let wanted = want(2);
    let gone = wanted.iter().map(Wanted::key);
    assert!(cache.cache.go_on((id, 1), false, Vec::new(), gone, cache.now).expect("goes on").is_none());
    assert_eq!(cache.go_on(id, 2), Err(ErrorCode::FetchSessionIdNotFound));
    cache.check();
}

#[test]
fn partitions_are_bounded_over_all_sessions() {
    let mut cache = Cache::new(10, 10);
    let id = cache.open(ConnectionId::next(), 6).expect("room");
    assert_eq!(cache.open(ConnectionId::next(), 5), None);
    assert!(cache.open(ConnectionId::next(), 3).is_some());
    cache.check();
    let grown = cache.cache.go_on((id, 1), false, want(8), empty(), cache.now);
    assert_eq!(grown.err(), Some(ErrorCode::FetchSessionIdNotFound), "it outgrew the cache");
    assert!(cache.open(ConnectionId::next(), 7).is_some(), "its room is free again");
    cache.check();
}

#[test]
fn without_slots_there_are_no_sessions() {
    let mut cache = Cache::new(0, 10);
    assert_eq!(cache.open(ConnectionId::next(), 1), None);
    cache.check();
}

proptest! {
    #[test]
    fn whatever_happens_the_bounds_hold(steps in prop::collection::vec((0..4_u8, 0..8_usize, 0..6_i32), 1..200)) {
        let connections: Vec<_> = (0..8).map(|_| ConnectionId::next()).collect();
        let mut cache = Cache::new(4, 16);
        // Each connection's session and the epoch it expects.
        let mut held = vec![None; connections.len()];
        for (kind, place, size) in steps {
            match kind {
                0 => held[place] = cache.open(connections[place], size).map(|id| (id, 1)),
                1 => {
                    let Some((id, epoch)) = held[place] else { continue };
                    let change = cache.cache.go_on((id, epoch), false, want(size), empty(), cache.now);
                    held[place] = change.is_ok().then_some((id, epoch + 1));
                }
                2 => {
                    cache.cache.disconnected(connections[place]);
                    held[place] = None;
                }
                _ => cache.now += LATER / 2,
            }
            cache.check();
        }
    }
}
