//! Everything that can be looked at beforehand, in the order in which one depends on another.

use std::fmt;

use super::{CheckFailure, advice, broker, columns, publication, server, slot};
use crate::causes;
use crate::config::ConnectorConfig;
use crate::control::{Control, ControlError};
use crate::outbox::Source;
use crate::replication::pgwire;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// The database answers and lets us in.
    Connection,
    /// The server decodes its log.
    Server,
    /// The role may replicate.
    Role,
    /// The server has room for a slot and a session.
    Capacity,
    /// The publication is there and publishes inserts.
    Publication,
    /// It has the tables, all rows of them.
    Tables,
    /// They have the columns that the router needs.
    Columns,
    /// The slot is there, is ours, and can be read from.
    Slot,
    /// The stream's connection is let through: no pooler, and pg_hba.conf.
    Replication,
    /// The server's settings will do in the long run.
    Settings,
    /// The broker answers.
    Broker,
    /// Missing topics can be made.
    Topics,
    /// The broker has transactions, if they are needed.
    Transactions,
}

/// How a check ended, best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// As it must be.
    Passed,
    /// The connector runs; something should be done about it all the same.
    Warning,
    /// Could not be looked at, for something before it failed.
    Skipped,
    /// The connector would not run.
    Failed,
}

/// One answer. A check may have several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub check: Check,
    /// How it ended.
    pub verdict: Verdict,
    /// What is the case and, unless it passed, what to do.
    pub message: String,
}

impl Finding {
    pub(super) fn passed(check: Check, message: String) -> Finding {
        Finding { check, verdict: Verdict::Passed, message }
    }
}

impl Check {
    /// Those about the database, in order.
    const OF_POSTGRES: [Check; 10] = [
        Check::Connection,
        Check::Server,
        Check::Role,
        Check::Capacity,
        Check::Publication,
        Check::Tables,
        Check::Columns,
        Check::Slot,
        Check::Replication,
        Check::Settings,
    ];

    /// One word, for a table and for JSON.
    pub fn name(self) -> &'static str {
        match self {
            Check::Connection => "connection",
            Check::Server => "server",
            Check::Role => "role",
            Check::Capacity => "capacity",
            Check::Publication => "publication",
            Check::Tables => "tables",
            Check::Columns => "columns",
            Check::Slot => "slot",
            Check::Replication => "replication",
            Check::Settings => "settings",
            Check::Broker => "broker",
            Check::Topics => "topics",
            Check::Transactions => "transactions",
        }
    }

    /// What is the case when nothing is wrong.
    fn praise(self, source: &Source) -> String {
        let tables = || source.tables.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Check::Server => "wal_level is logical".to_owned(),
            Check::Role => "may replicate".to_owned(),
            Check::Capacity => "there is room for the slot and its session".to_owned(),
            Check::Publication => format!("{} publishes inserts", source.publication),
            Check::Tables => format!("{} published", tables()),
            Check::Columns => "as the router's options name them".to_owned(),
            Check::Slot => format!("{} is ready", source.slot),
            _ => "fine".to_owned(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Passed => "ok",
            Verdict::Warning => "warning",
            Verdict::Skipped => "skipped",
            Verdict::Failed => "failed",
        })
    }
}

/// Looks at database and cluster of a connector, which may be running meanwhile. Changes neither.
pub async fn examine(config: &ConnectorConfig) -> Vec<Finding> {
    let (mut findings, of_broker) = tokio::join!(examine_database(config), broker::check(config));
    findings.extend(of_broker);
    findings
}

/// The part of [`examine`] that is about the database.
pub async fn examine_database(config: &ConnectorConfig) -> Vec<Finding> {
    let mut found = Found::default();
    let error = match Control::connect(&config.postgres).await {
        Ok(control) => match found.look(&control, config).await {
            Ok(()) => {
                found.replication(config).await;
                return found.sorted(&config.source());
            }
            Err(error) => error,
        },
        Err(error) => error,
    };
    found.of(Check::Connection, Verdict::Failed, causes::text(&error));
    for check in &Check::OF_POSTGRES[1..] {
        found.of(*check, Verdict::Skipped, "the database cannot be asked".to_owned());
    }
    found.sorted(&config.source())
}

#[derive(Default)]
struct Found(Vec<Finding>);

impl Found {
    fn of(&mut self, check: Check, verdict: Verdict, message: String) {
        self.0.push(Finding { check, verdict, message });
    }

    fn warn(&mut self, check: Check, warnings: Vec<String>) {
        for warning in warnings {
            self.of(check, Verdict::Warning, warning);
        }
    }

    async fn look(&mut self, control: &Control, config: &ConnectorConfig) -> Result<(), ControlError> {
        let (client, source) = (control.client(), config.source());
        let version: String = client.query_one("select current_setting('server_version')", &[]).await?.try_get(0)?;
        let encryption =
            "select coalesce((select version from pg_stat_ssl where pid = pg_backend_pid() and ssl), 'not encrypted')";
        let encryption: String = client.query_one(encryption, &[]).await?.try_get(0)?;
        let message = format!("{}: PostgreSQL {version}, {encryption}", config.postgres);
        self.0.push(Finding::passed(Check::Connection, message));

        let mut failures: Vec<CheckFailure> = Vec::new();
        server::check(client, &mut failures).await?;
        server::capacity(client, &source.slot, &mut failures).await?;
        publication::check(client, &source, &mut failures).await?;
        let mut warnings = Vec::new();
        columns::check(client, &source, &config.router, &mut failures, &mut warnings).await?;
        self.warn(Check::Columns, warnings);
        slot::check(client, &source.slot, &mut failures).await?;
        for failure in failures {
            self.of(failure.check(), Verdict::Failed, failure.to_string());
        }
        let mut warnings = Vec::new();
        advice::filters(client, &source, &mut warnings).await?;
        self.warn(Check::Tables, warnings);
        let mut warnings = Vec::new();
        advice::slot(client, &source, &mut warnings).await?;
        self.warn(Check::Slot, warnings);
        if let Some(holder) = super::holder(client, &source.slot).await? {
            self.0.push(Finding::passed(Check::Slot, format!("{} is streamed from by {holder}", source.slot)));
        }
        let mut warnings = Vec::new();
        advice::settings(client, &mut warnings).await?;
        self.warn(Check::Settings, warnings);
        Ok(())
    }

    /// The stream's way differs from the control connection's: it is another kind of session, which poolers refuse.
    async fn replication(&mut self, config: &ConnectorConfig) {
        let has_failed = |check| self.0.iter().any(|found| found.check == check && found.verdict == Verdict::Failed);
        if has_failed(Check::Role) || has_failed(Check::Capacity) {
            return self.of(Check::Replication, Verdict::Skipped, "the role may not, or there is no room".to_owned());
        }
        match pgwire::probe(&config.postgres, &config.source()).await {
            Ok(server) => {
                let message = format!("system {}, timeline {}", server.system_id, server.timeline);
                self.0.push(Finding::passed(Check::Replication, message));
            }
            Err(error) => self.of(Check::Replication, Verdict::Failed, causes::text(&error)),
        }
    }

    /// In the order of the checks, with a word about those that found nothing.
    fn sorted(mut self, source: &Source) -> Vec<Finding> {
        let mut sorted = Vec::with_capacity(self.0.len());
        for check in Check::OF_POSTGRES {
            let (of_this, rest): (Vec<_>, Vec<_>) = self.0.into_iter().partition(|found| found.check == check);
            self.0 = rest;
            match of_this.is_empty() {
                true => sorted.push(Finding::passed(check, check.praise(source))),
                false => sorted.extend(of_this),
            }
        }
        sorted
    }
}
