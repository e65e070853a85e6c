//! Backlogs: rows behind a slot that nobody has streamed from, so that every side finds the same work.

use anyhow::Result;

use super::database::Database;

/// Rows of 500 bytes of payload each, as Postgres prints jsonb.
const PAYLOAD_BYTES: usize = 500;
/// The slot that keeps the backlog; sides drain copies of it.
const BASE_SLOT: &str = "backlog";
/// Keys among which rows are spread.
const KEYS: u64 = 10_000;
/// The aggregate type of all rows.
const AGGREGATE: &str = "order";
/// The topic their events go to.
pub(super) const TOPIC: &str = "outbox.event.order";

/// How rows are spread over transactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// Each in its own.
    Single,
    /// A hundred in each.
    Hundred,
    /// All in one.
    One,
}

impl Shape {
    /// Every shape.
    pub(super) const ALL: [Self; 3] = [Self::Single, Self::Hundred, Self::One];

    /// Its load's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Single => "backlog, transactions of 1",
            Self::Hundred => "backlog, transactions of 100",
            Self::One => "backlog, all in one transaction",
        }
    }

    fn rows(self, all: u64) -> u64 {
        match self {
            Self::Single => 1,
            Self::Hundred => 100,
            Self::One => all,
        }
    }
}

/// A backlog in the database.
#[derive(Debug)]
pub(super) struct Backlog {
    /// Its rows.
    pub(super) rows: u64,
    /// The position behind its last transaction.
    pub(super) end: String,
}

/// A procedure that inserts `transactions × rows`, one transaction after another.
const PROCEDURE: &str = "
CREATE OR REPLACE PROCEDURE write_backlog(transactions bigint, each bigint, keys bigint, pad text) LANGUAGE plpgsql AS $$
BEGIN
    FOR t IN 0 .. transactions - 1 LOOP
        INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload)
        SELECT gen_random_uuid(), 'order', (n % keys)::text, 'OrderPlaced', jsonb_build_object('n', n, 'pad', pad)
        FROM generate_series(t * each, t * each + each - 1) AS n;
        COMMIT;
    END LOOP;
END $$;
SET synchronous_commit = off;";

/// Writes a backlog of so many rows behind a slot.
///
/// # Errors
/// When Postgres refuses something.
pub(super) fn write(database: &Database, shape: Shape, rows: u64) -> Result<Backlog> {
    debug_assert_eq!(TOPIC, format!("outbox.event.{AGGREGATE}"));
    let each = shape.rows(rows);
    let transactions = rows / each;
    database.make_slot(BASE_SLOT)?;
    database.execute(PROCEDURE)?;
    database.execute(&format!("CALL write_backlog({transactions}, {each}, {KEYS}, '{}')", padding()))?;
    // Right behind the last commit: a slot may be confirmed up to there as soon as its rows are safe.
    let end = database.text("SELECT pg_current_wal_insert_lsn()")?;
    database.execute("CHECKPOINT")?;
    Ok(Backlog { rows: transactions * each, end })
}

/// Text that fills a payload up to its size, and that compresses as little as letters can.
pub(super) fn padding() -> String {
    // Beside it stand `{"n": 123456, "pad": ""}`.
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let mut state = 7_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        char::from(letters[(state >> 16) as usize % letters.len()])
    };
    (0..PAYLOAD_BYTES - 24).map(|_| next()).collect()
}

impl Backlog {
    /// Makes a slot from which the whole backlog can be streamed.
    pub(super) fn slot(&self, database: &Database, name: &str) -> Result<()> {
        database.copy_slot(BASE_SLOT, name)
    }

    /// Removes it.
    pub(super) fn remove(self, database: &Database) -> Result<()> {
        database.drop_slot(BASE_SLOT)?;
        database.execute("TRUNCATE outbox")
    }
}
