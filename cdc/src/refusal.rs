//! What Postgres' refusals mean and what to do about them: the same words for both connections.

/// What to do about a refusal in these words of the server's, to be put behind them; empty where they say it all.
///
/// SQLSTATEs are too coarse here: 28000 alone stands for half of these. A server that speaks another language
/// (`lc_messages`) gets its words without the hint.
pub(crate) fn hint(reason: &str) -> &'static str {
    let hints: [(&[&str], &str); 12] = [
        (
            &["no pg_hba.conf entry for replication connection"],
            "; the server takes this for physical replication: a pooler or proxy stands between, connect to Postgres itself",
        ),
        (
            &["pg_hba.conf", "no encryption"],
            "; let the role in with a `host` line of pg_hba.conf, or, if there is a `hostssl` line, encrypt with sslmode=require or verify-full",
        ),
        (
            &["pg_hba.conf"],
            "; let the role in with a `host` or `hostssl` line of pg_hba.conf for the database (a logical slot needs no `replication` line), and reload the server",
        ),
        (&["connection requires a valid client certificate"], "; name the role's certificate with sslcert and sslkey"),
        (
            &["certificate authentication failed"],
            "; name a certificate with sslcert and sslkey whose common name is the role's, or map it in pg_ident.conf",
        ),
        (
            &["unsupported startup parameter"],
            "; a connection pooler (PgBouncer) stands between, which passes no replication on: connect to Postgres itself",
        ),
        (
            &["replication connections are not supported"],
            "; a connection pooler stands between: connect to Postgres itself",
        ),
        (&["password authentication failed"], "; check user and password of postgres.url"),
        (
            &["must be superuser", "replication role"],
            "; run `ALTER ROLE … REPLICATION` (RDS: GRANT rds_replication TO …; Cloud SQL: ALTER USER … WITH REPLICATION)",
        ),
        (
            &["permission denied to start WAL sender"],
            "; run `ALTER ROLE … REPLICATION` (RDS: GRANT rds_replication TO …; Cloud SQL: ALTER USER … WITH REPLICATION)",
        ),
        (
            &["publication", "does not exist"],
            "; the slot reads as of the time of each change, when the publication was not there: run `pillion outbox init`, and if this goes on, drop the slot and let init make a new one. Rows committed without the publication are published by `pillion outbox republish`",
        ),
        (
            &["can no longer", "replication slot"],
            "; the slot is invalidated: drop it, run `pillion outbox init`, and publish what consumers miss with `pillion outbox republish`",
        ),
    ];
    let fits = |words: &[&str]| words.iter().all(|word| reason.contains(word));
    hints.iter().find(|(words, _)| fits(words)).map_or("", |(_, hint)| hint)
}
