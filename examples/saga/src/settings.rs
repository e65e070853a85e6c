//! What a service is told from outside: its environment and its one flag.

use anyhow::{Context as _, Result, bail};

/// Read once at start; the OTEL_* variables are read in [`crate::telemetry`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `DATABASE_URL`: where the service's own schema lives, as `postgresql://user@host:port/database`.
    pub database_url: String,
    /// `KAFKA_BOOTSTRAP_SERVERS`: `host:port[,host:port…]`.
    pub bootstrap_servers: String,
    /// `HTTP_LISTEN`: `host:port`; port 0 takes a free one.
    pub http_listen: String,
    /// `--migrate`: create the tables, then exit. For deployments where a publication must name them first.
    pub migrate_only: bool,
}

impl Settings {
    /// Reads the process's environment and arguments.
    ///
    /// # Errors
    /// When `DATABASE_URL` is missing or an argument is unknown; the text says what to do.
    pub fn read() -> Result<Settings> {
        // An empty variable counts as one that is not set, as compose files leave them.
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Settings::from(std::env::args().skip(1), variable)
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
        Ok(Settings {
            database_url: variable("DATABASE_URL")
                .context("DATABASE_URL is not set: give it as postgresql://user@host:port/database")?,
            bootstrap_servers: or_default("KAFKA_BOOTSTRAP_SERVERS", "localhost:9092"),
            http_listen: or_default("HTTP_LISTEN", "127.0.0.1:0"),
            migrate_only,
        })
    }
}

#[cfg(test)]
mod tests;
