//! How the tools reach a cluster that wants TLS or a password: Kafka's keys, from a file, the environment and flags.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::Args;
use pillion_client::SecurityConfig;

use crate::config::{environment_name, properties};

/// TLS and SASL, under the names that Kafka's own tools have for these flags.
#[derive(Debug, Args)]
pub(super) struct SecurityFlags {
    /// Read TLS and SASL settings from a properties file, as Kafka's tools take it: security.protocol, sasl.mechanism,
    /// sasl.username, sasl.password, ssl.ca.location and the like
    #[arg(long, value_name = "FILE", env = "PILLION_COMMAND_CONFIG")]
    command_config: Option<PathBuf>,
    /// Set one of these keys; may be repeated. A password is better off in the file, or in PILLION_SASL_PASSWORD
    #[arg(short = 'X', long = "command-property", value_name = "KEY=VALUE")]
    command_properties: Vec<String>,
}

impl SecurityFlags {
    /// Puts file, environment and flags on top of each other.
    pub(super) fn read(&self) -> Result<SecurityConfig> {
        let mut security = SecurityConfig::default();
        if let Some(path) = &self.command_config {
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
            // Other keys are for other clients: the file may be shared with them.
            for (key, value) in properties(&text).filter(|(key, _)| SecurityConfig::KEYS.contains(key)) {
                security.set(key, &value).with_context(|| path.display().to_string())?;
            }
        }
        for key in SecurityConfig::KEYS {
            let name = environment_name(key);
            match std::env::var(&name) {
                Ok(value) if !value.is_empty() => security.set(key, &value).context(name)?,
                _ => {}
            }
        }
        for property in &self.command_properties {
            let Some((key, value)) = property.split_once('=') else { bail!("-X: expected KEY=VALUE") };
            security.set(key.trim(), value.trim()).context("-X")?;
        }
        if let Err(errors) = security.validate() {
            let problems: Vec<String> = errors.iter().map(ToString::to_string).collect();
            bail!("{}", problems.join("; "));
        }
        Ok(security)
    }
}

#[cfg(test)]
mod tests;
