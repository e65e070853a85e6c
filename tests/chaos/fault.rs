//! What can go wrong, and how it is done to a scene.

use std::time::Duration;

use anyhow::Result;
use pillion_tests::proxy::{END_TXN, Fault as WireFault};
use rand::Rng;
use rand::rngs::StdRng;
use rustix::process::Signal;
use tokio::time::{sleep, timeout};

use crate::story::Scene;

/// How long a trap waits for an EndTxn.
const TRAP_WAIT: Duration = Duration::from_secs(5);

/// One thing that goes wrong. Times are in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// SIGKILL of one connector.
    KillConnector(usize),
    /// SIGTERM of one connector.
    StopConnector(usize),
    /// SIGKILL of both.
    KillConnectors,
    /// SIGSTOP of one connector for so long.
    PauseConnector(usize, u64),
    /// SIGKILL of the broker, which is away for so long.
    KillBroker(u64),
    /// SIGSTOP of the broker for so long.
    PauseBroker(u64),
    /// SIGKILL of Postgres.
    KillPostgres(u64),
    /// A fast shutdown of Postgres.
    StopPostgres(u64),
    /// SIGSTOP of the walsender for so long.
    PauseWalsender(u64),
    /// Postgres ends the walsender.
    EndWalsender,
    /// Connections to the broker are cut.
    CutBroker,
    /// Connections to Postgres are cut.
    CutPostgres,
    /// The broker cannot be reached for so long.
    BrokerAway(u64),
    /// Postgres cannot be reached for so long.
    PostgresAway(u64),
    /// Nothing comes through to or from Postgres for so long, and no connection ends.
    SilentPostgres(u64),
    /// Nothing comes back from the broker for so long, and no connection ends.
    SilentBroker(u64),
    /// Postgres hears nothing for so long; then both connectors are killed: committed, not confirmed.
    DeafPostgresThenKill(u64),
    /// An EndTxn is held, and the connectors are killed.
    KillBeforeEndTxn,
    /// An answer to EndTxn is lost, and the connectors are killed.
    KillBehindEndTxn,
    /// An answer to EndTxn is lost, and connections are cut.
    LoseEndTxn,
    /// An EndTxn arrives so late.
    DelayEndTxn(u64),
    /// Broker and Postgres are killed at once.
    KillBoth,
}

impl Fault {
    /// Any of them.
    pub(crate) fn any(rng: &mut StdRng) -> Self {
        let which = rng.random_range(0..2);
        // Mostly short; sometimes longer than any time-out.
        let time = if rng.random_bool(0.2) { rng.random_range(8_000..16_000) } else { rng.random_range(100..3_000) };
        match rng.random_range(0..22) {
            0 => Self::KillConnector(which),
            1 => Self::StopConnector(which),
            2 => Self::KillConnectors,
            3 => Self::PauseConnector(which, time),
            4 => Self::KillBroker(time),
            5 => Self::PauseBroker(time),
            6 => Self::KillPostgres(time.min(3_000)),
            7 => Self::StopPostgres(time.min(3_000)),
            8 => Self::PauseWalsender(time),
            9 => Self::EndWalsender,
            10 => Self::CutBroker,
            11 => Self::CutPostgres,
            12 => Self::BrokerAway(time),
            13 => Self::PostgresAway(time),
            14 => Self::SilentPostgres(time),
            15 => Self::SilentBroker(time),
            16 => Self::DeafPostgresThenKill(time.min(3_000)),
            17 => Self::KillBeforeEndTxn,
            18 => Self::KillBehindEndTxn,
            19 => Self::LoseEndTxn,
            20 => Self::DelayEndTxn(time),
            _ => Self::KillBoth,
        }
    }

    /// Does it, and ends it.
    pub(crate) async fn happen(self, scene: &mut Scene) -> Result<()> {
        let pause = |time| sleep(Duration::from_millis(time));
        match self {
            Self::KillConnector(which) => scene.connectors.kill(which).await?,
            Self::StopConnector(which) => scene.connectors.stop(which).await?,
            Self::KillConnectors => scene.kill_connectors().await?,
            Self::PauseConnector(which, time) => {
                scene.connectors.signal(which, Signal::STOP);
                pause(time).await;
                scene.connectors.signal(which, Signal::CONT);
            }
            Self::KillBroker(time) => {
                scene.cluster.kill().await?;
                pause(time).await;
                scene.cluster.restart().await?;
            }
            Self::PauseBroker(time) => {
                scene.cluster.signal(Signal::STOP)?;
                pause(time).await;
                scene.cluster.signal(Signal::CONT)?;
            }
            Self::KillPostgres(time) => {
                scene.postgres.kill()?;
                pause(time).await;
                scene.postgres.restart().await?;
            }
            Self::StopPostgres(time) => {
                scene.postgres.stop().await?;
                pause(time).await;
                scene.postgres.restart().await?;
            }
            Self::PauseWalsender(time) => scene.pause_walsender(Duration::from_millis(time)).await?,
            Self::EndWalsender => scene.end_walsender().await?,
            Self::CutBroker
            | Self::CutPostgres
            | Self::BrokerAway(_)
            | Self::PostgresAway(_)
            | Self::SilentPostgres(_)
            | Self::SilentBroker(_) => self.on_the_wire(scene).await,
            Self::DeafPostgresThenKill(time) => {
                scene.postgres_proxy.hold_requests(true);
                pause(time).await;
                scene.kill_connectors().await?;
                scene.postgres_proxy.hold_requests(false);
            }
            Self::KillBeforeEndTxn | Self::KillBehindEndTxn | Self::LoseEndTxn | Self::DelayEndTxn(_) => {
                self.around_end_txn(scene).await?;
            }
            Self::KillBoth => {
                scene.cluster.kill().await?;
                scene.postgres.kill()?;
                scene.postgres.restart().await?;
                scene.cluster.restart().await?;
            }
        }
        Ok(())
    }

    /// What the proxies do.
    async fn on_the_wire(self, scene: &Scene) {
        let pause = |time| sleep(Duration::from_millis(time));
        match self {
            Self::CutBroker => scene.cluster.proxy.cut(),
            Self::CutPostgres => scene.postgres_proxy.cut(),
            Self::BrokerAway(time) => {
                scene.cluster.proxy.set_open(false);
                pause(time).await;
                scene.cluster.proxy.set_open(true);
            }
            Self::PostgresAway(time) => {
                scene.postgres_proxy.set_open(false);
                pause(time).await;
                scene.postgres_proxy.set_open(true);
            }
            Self::SilentPostgres(time) => {
                scene.postgres_proxy.hold_requests(true);
                scene.postgres_proxy.hold_answers(true);
                pause(time).await;
                scene.postgres_proxy.hold_requests(false);
                scene.postgres_proxy.hold_answers(false);
            }
            Self::SilentBroker(time) => {
                scene.cluster.proxy.hold_answers(true);
                pause(time).await;
                scene.cluster.proxy.hold_answers(false);
            }
            _ => {}
        }
    }

    async fn around_end_txn(self, scene: &mut Scene) -> Result<()> {
        let fault = match self {
            Self::KillBeforeEndTxn | Self::DelayEndTxn(_) => WireFault::Hold,
            _ => WireFault::LoseAnswer,
        };
        let trap = scene.cluster.proxy.trap(END_TXN, 1, fault);
        let has_sprung = timeout(TRAP_WAIT, trap.sprung()).await.is_ok();
        match self {
            Self::LoseEndTxn => scene.cluster.proxy.cut(),
            Self::DelayEndTxn(time) => sleep(Duration::from_millis(time)).await,
            _ => scene.kill_connectors().await?,
        }
        trap.release();
        if !has_sprung {
            // Nothing was written, or the broker was away: it must not spring later.
            scene.cluster.proxy.forget_traps();
        }
        Ok(())
    }
}
