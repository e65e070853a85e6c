//! What must be true of a database before its outbox can be replicated, each failure with its fix.
//!
//! The connector asks before each session, so that it stops with the reason rather than with Postgres' words; a
//! doctor command can ask the same.

mod slot;

use thiserror::Error;
use tokio_postgres::Client;

use crate::control::{Control, ControlError};
use crate::outbox::Source;
use crate::postgres_url::PostgresUrl;
use crate::quoting::TableName;

pub(crate) use slot::{slot_made_at, slot_state, until_slot_is_free};

/// One thing that is not as it must be. The message says what to do.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CheckFailure {
    /// The server does not write what logical decoding needs.
    #[error(
        "wal_level is {found}: run `ALTER SYSTEM SET wal_level = logical` and restart Postgres (on RDS and Aurora: rds.logical_replication = 1, on Cloud SQL: cloudsql.logical_decoding = on)"
    )]
    WalLevel {
        /// Its value.
        found: String,
    },
    /// The role may not replicate.
    #[error(
        "role {role} may not replicate: run `ALTER ROLE {quoted} REPLICATION` as a superuser (on RDS: `GRANT rds_replication TO {quoted}`)",
        quoted = crate::quoting::identifier(role)
    )]
    Role {
        /// The connector's role.
        role: String,
    },
    /// There is no such publication.
    #[error("publication {name} does not exist: run `pillion outbox init`, or name the right one")]
    NoPublication {
        /// Its name.
        name: String,
    },
    /// It does not publish inserts.
    #[error("publication {name} leaves out inserts: run `ALTER PUBLICATION {quoted} SET (publish = 'insert')`", quoted = crate::quoting::identifier(name))]
    NoInserts {
        /// Its name.
        name: String,
    },
    /// A table does not exist.
    #[error("table {table} does not exist: run `pillion outbox init`, or name the right one")]
    NoTable {
        /// Its name.
        table: TableName,
    },
    /// A table exists, and the publication leaves it out.
    #[error(
        "table {table} is not in publication {publication}: run `ALTER PUBLICATION {quoted} ADD TABLE {quoted_table}`",
        quoted = crate::quoting::identifier(publication),
        quoted_table = table.quoted()
    )]
    NotPublished {
        /// Its name.
        table: TableName,
        /// The publication.
        publication: String,
    },
    /// A partitioned table's rows would come under the names of its partitions.
    #[error(
        "table {table} is partitioned and publication {publication} names its partitions: run `ALTER PUBLICATION {quoted} SET (publish_via_partition_root = true)`",
        quoted = crate::quoting::identifier(publication)
    )]
    NotViaRoot {
        /// Its name.
        table: TableName,
        /// The publication.
        publication: String,
    },
    /// There is no such slot.
    #[error(
        "replication slot {name} does not exist: run `pillion outbox init`; rows committed before the slot is made are not published"
    )]
    NoSlot {
        /// Its name.
        name: String,
    },
    /// The slot is for something else.
    #[error("replication slot {name} is {found}, not a pgoutput slot of database {database}: name another slot")]
    OtherSlot {
        /// Its name.
        name: String,
        /// What it is.
        found: String,
        /// The connector's database.
        database: String,
    },
    /// Postgres gave the slot up, for it held too much log.
    #[error(
        "replication slot {name} is invalidated: Postgres removed log it needed (max_slot_wal_keep_size). Rows since {confirmed} may be lost to it: drop the slot with `SELECT pg_drop_replication_slot({quoted})`, run `pillion outbox init`, and publish again what consumers miss",
        quoted = crate::quoting::literal(name)
    )]
    SlotInvalidated {
        /// Its name.
        name: String,
        /// Its confirmed position, as Postgres prints it.
        confirmed: String,
    },
}

/// Connects and checks everything; the list is empty when the connector can start.
///
/// # Errors
/// [`ControlError`] when the database cannot be asked.
pub async fn run(url: &PostgresUrl, source: &Source) -> Result<Vec<CheckFailure>, ControlError> {
    let control = Control::connect(url).await?;
    let mut failures = Vec::new();
    server(control.client(), &mut failures).await?;
    self::source(control.client(), source, &mut failures).await?;
    Ok(failures)
}

/// Checks what is to be replicated.
pub(crate) async fn source(
    client: &Client,
    source: &Source,
    failures: &mut Vec<CheckFailure>,
) -> Result<(), ControlError> {
    publication(client, source, failures).await?;
    slot(client, &source.slot, failures).await
}

/// Who holds the slot, for a message; `None` when nobody does any more.
pub(crate) async fn slot_holder(url: &PostgresUrl, slot: &str) -> Result<Option<String>, ControlError> {
    let control = Control::connect(url).await?;
    let query = "select coalesce(a.application_name, '') || ' (process ' || s.active_pid || coalesce(' from ' || host(a.client_addr), '') || ')'
        from pg_replication_slots s left join pg_stat_activity a on a.pid = s.active_pid
        where s.slot_name = $1 and s.active_pid is not null";
    let row = control.client().query_opt(query, &[&slot]).await?;
    Ok(row.map(|row| row.try_get(0)).transpose()?)
}

/// Checks what holds for the whole server.
pub(crate) async fn server(client: &Client, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    let query = "select current_setting('wal_level'), current_user::text,
        exists (select from pg_roles r where r.rolname = current_user and (r.rolsuper or r.rolreplication))
        or exists (select from pg_roles r where r.rolname = 'rds_replication' and pg_has_role(current_user, r.oid, 'member'))";
    let row = client.query_one(query, &[]).await?;
    let found: String = row.try_get(0)?;
    if found != "logical" {
        failures.push(CheckFailure::WalLevel { found });
    }
    if !row.try_get(2)? {
        failures.push(CheckFailure::Role { role: row.try_get(1)? });
    }
    Ok(())
}

async fn publication(client: &Client, source: &Source, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    let name = source.publication.clone();
    let query = "select pubinsert, pubviaroot from pg_publication where pubname = $1";
    let Some(row) = client.query_opt(query, &[&name]).await? else {
        failures.push(CheckFailure::NoPublication { name });
        return Ok(());
    };
    let (inserts, via_root): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !inserts {
        failures.push(CheckFailure::NoInserts { name });
    }
    for table in &source.tables {
        let query = "select c.relkind = 'p', exists (select from pg_publication_tables t
                where t.pubname = $1 and t.schemaname = n.nspname and t.tablename = c.relname)
            from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $2 and c.relname = $3";
        let row = client.query_opt(query, &[&source.publication, &table.schema, &table.name]).await?;
        let publication = source.publication.clone();
        let table = table.clone();
        let Some(row) = row else {
            failures.push(CheckFailure::NoTable { table });
            continue;
        };
        let (partitioned, published): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
        if partitioned && !via_root {
            failures.push(CheckFailure::NotViaRoot { table, publication });
        } else if !published {
            failures.push(CheckFailure::NotPublished { table, publication });
        }
    }
    Ok(())
}

async fn slot(client: &Client, name: &str, failures: &mut Vec<CheckFailure>) -> Result<(), ControlError> {
    let database: String = client.query_one("select current_database()::text", &[]).await?.try_get(0)?;
    let name = name.to_owned();
    let Some(state) = slot::read(client, &name).await? else {
        failures.push(CheckFailure::NoSlot { name });
        return Ok(());
    };
    if state.kind != "logical" || state.plugin != "pgoutput" || state.database != database {
        let found = match state.kind.as_str() {
            "logical" => format!("a {} slot of database {}", state.plugin, state.database),
            _ => "a physical slot".to_owned(),
        };
        failures.push(CheckFailure::OtherSlot { name, found, database });
    } else if state.is_lost() {
        failures.push(CheckFailure::SlotInvalidated { name, confirmed: state.confirmed_flush.to_string() });
    }
    Ok(())
}
