//! What a service is told from outside: its environment and its one flag.

use std::fmt::Display;
use std::str::FromStr;

use anyhow::{Context as _, Result, anyhow, bail};

/// Read once at start; the OTEL_* variables are read in [`crate::telemetry`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `DATABASE_URL`: the service's own database, as `postgresql://user@host:port/database`. Empty when it is not set:
    /// a service without state needs none.
    pub database_url: String,
    /// `DATABASE_SCHEMA`: where its tables are, for services that must share a database.
    pub database_schema: String,
    /// `KAFKA_BOOTSTRAP_SERVERS`: `host:port[,host:port…]`.
    pub bootstrap_servers: String,
    /// `HTTP_LISTEN`: `host:port`; port 0 takes a free one.
    pub http_listen: String,
    /// `WORKERS`: how many events a service works on at a time, from 1 to 64.
    pub workers: usize,
    /// `--migrate`: create the tables, then exit. For deployments where a publication must name them first.
    pub migrate_only: bool,
}

/// A little more than the cores of a small machine: a worker waits for its database most of the time.
const WORKERS_DEFAULT: usize = 4;

/// Each worker holds a connection to the database.
const WORKERS_MAX: usize = 64;

impl Settings {
    /// Reads the process's environment, and its arguments behind the service's name.
    ///
    /// # Errors
    /// When an argument is unknown or a variable cannot be understood; the text says what to do.
    pub fn read() -> Result<Settings> {
        Settings::from(arguments(), environment)
    }

    /// The same for a program with flags of its own; answers those that are given.
    ///
    /// # Errors
    /// As [`Settings::read`].
    pub fn read_with(flags: &[&str]) -> Result<(Settings, Vec<String>)> {
        let (own, others): (Vec<_>, Vec<_>) = arguments().partition(|argument| flags.contains(&argument.as_str()));
        Ok((Settings::from(others.into_iter(), environment)?, own))
    }

    fn from(arguments: impl Iterator<Item = String>, variable: impl Fn(&str) -> Option<String>) -> Result<Settings> {
        let mut migrate_only = false;
        for argument in arguments {
            match argument.as_str() {
                "--migrate" => migrate_only = true,
                other => {
                    bail!("unknown argument {other}: the only one is --migrate, all else comes from the environment")
                }
            }
        }
        let or_default = |name, default: &str| variable(name).unwrap_or_else(|| default.to_owned());
        let workers = parsed("WORKERS", variable("WORKERS"), WORKERS_DEFAULT)?;
        if !(1..=WORKERS_MAX).contains(&workers) {
            bail!("WORKERS={workers}: give a number from 1 to {WORKERS_MAX}");
        }
        Ok(Settings {
            database_url: or_default("DATABASE_URL", ""),
            database_schema: or_default("DATABASE_SCHEMA", "public"),
            bootstrap_servers: or_default("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092"),
            http_listen: or_default("HTTP_LISTEN", "127.0.0.1:0"),
            workers,
            migrate_only,
        })
    }

    /// The service's own database.
    ///
    /// # Errors
    /// When `DATABASE_URL` is not set.
    pub fn required_database_url(&self) -> Result<&str> {
        if self.database_url.is_empty() {
            bail!("DATABASE_URL is not set: give it as postgresql://user@host:port/database");
        }
        Ok(&self.database_url)
    }
}

/// Those behind the program and the name of the service.
fn arguments() -> impl Iterator<Item = String> {
    std::env::args().skip(2)
}

/// A variable of one service only, such as `PAYMENT_DELAY_MS`.
///
/// # Errors
/// When it is set to something that is no `T`.
pub fn variable<T>(name: &str, default: T) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    parsed(name, environment(name), default)
}

fn parsed<T>(name: &str, value: Option<String>, default: T) -> Result<T>
where
    T: FromStr,
    T::Err: Display,
{
    let Some(value) = value else { return Ok(default) };
    value
        .parse()
        .map_err(|error: T::Err| anyhow!("{error}"))
        .with_context(|| format!("{name}={value} is not understood"))
}

/// An empty variable counts as one that is not set, as compose files leave them.
fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests;
