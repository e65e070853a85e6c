//! TLS to Postgres, on both connections: which certificates will do, and what is said about those that will not.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use pillion_cdc::{ConnectorConfig, ConnectorError, checks};
use pillion_test_postgres::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};

use crate::recorder::Recorder;
use crate::{config, id, insert, start};

const PASSWORD: &str = "s3cr3t-in-the-address";
const WRONG: &str = "wr0ng-in-the-address";

/// A server with TLS, whose certificate is for `localhost`, and the files a client may use.
struct Encrypted {
    server: Server,
    files: tempfile::TempDir,
    authority: CertifiedIssuer<'static, KeyPair>,
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new([]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

impl Encrypted {
    /// With a role `relay` that may replicate, has a password, and whose certificate the server would take.
    async fn start() -> Result<Encrypted> {
        let server = Server::start().await?;
        let encrypted = Encrypted { server, files: tempfile::tempdir()?, authority: authority("shop authority") };
        let mut params = CertificateParams::new(["localhost".to_owned()])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &encrypted.authority)?;
        let client = encrypted.server.connect().await?;
        for (file, content) in [
            ("server.crt", certificate.pem()),
            ("server.key", key.serialize_pem()),
            ("authority.crt", encrypted.authority.pem()),
        ] {
            let lines = content.trim_end().replace('\n', "','");
            let write = format!("copy (select unnest(array['{lines}'])) to program 'umask 077; cat > \"$PWD/{file}\"'");
            client.batch_execute(&write).await?;
        }
        client
            .batch_execute(&format!(
                "set password_encryption = 'scram-sha-256'; create role relay login superuser replication password '{PASSWORD}'"
            ))
            .await?;
        for setting in ["ssl = on", "ssl_ca_file = 'authority.crt'"] {
            client.batch_execute(&format!("alter system set {setting}")).await?;
        }
        encrypted.admit("hostssl all relay all scram-sha-256").await?;
        std::fs::write(encrypted.path("authority.crt"), encrypted.authority.pem())?;
        std::fs::write(encrypted.path("stranger.crt"), authority("stranger").pem())?;
        encrypted.client_certificate("relay", &encrypted.authority)?;
        Ok(encrypted)
    }

    fn path(&self, file: &str) -> PathBuf {
        self.files.path().join(file)
    }

    fn client_certificate(&self, file: &str, authority: &CertifiedIssuer<'static, KeyPair>) -> Result<()> {
        let mut params = CertificateParams::new([])?;
        params.distinguished_name.push(rcgen::DnType::CommonName, "relay");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate()?;
        std::fs::write(self.path(&format!("{file}.crt")), params.signed_by(&key, authority)?.pem())?;
        std::fs::write(self.path(&format!("{file}.key")), key.serialize_pem())?;
        Ok(())
    }

    /// Lets connections in by this line of pg_hba.conf, besides the test's own.
    async fn admit(&self, line: &str) -> Result<()> {
        let client = self.server.connect().await?;
        let hba: String = client.query_one("select current_setting('hba_file')", &[]).await?.try_get(0)?;
        std::fs::write(hba, format!("host all postgres 127.0.0.1/32 trust\n{line}\n"))?;
        client.batch_execute("select pg_reload_conf()").await?;
        // Without an error: a rule with TLS is one only once the server has read that it has TLS.
        let loaded = "select current_setting('ssl') = 'on' and 1 = (select count(*) from pg_hba_file_rules
            where user_name = '{relay}' and error is null)";
        let deadline = Instant::now() + Duration::from_secs(60);
        while !client.query_one(loaded, &[]).await?.try_get::<_, bool>(0)? {
            assert!(Instant::now() < deadline, "{line}");
        }
        Ok(())
    }

    /// The connector's configuration for this host and these options; `{}` stands for the files' folder.
    fn config(&self, password: &str, host: &str, options: &str) -> ConnectorConfig {
        let options = options.replace("{}", &self.files.path().display().to_string());
        let url = self.server.url().replace("postgres@127.0.0.1", &format!("relay:{password}@{host}"));
        let mut config = config(&self.server);
        config.postgres = format!("{url}?{options}").parse().unwrap();
        // Each has a cluster of its own, which knows nothing of the ones before.
        config.adopt_slot = true;
        config
    }

    async fn works(&self, host: &str, options: &str) -> Result<()> {
        let recorder = Recorder::default();
        let config = self.config(PASSWORD, host, options);
        let running = start(config, &recorder);
        running.until_streaming().await;
        let client = self.server.connect().await?;
        client.batch_execute("truncate outbox").await?;
        insert(&client, "outbox", 1).await?;
        recorder.until_id(&id(1)).await;
        let encrypted = "select count(*), bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid)
            where application_name like 'pillion%'";
        let row = client.query_one(encrypted, &[]).await?;
        assert_eq!((row.try_get(0)?, row.try_get(1)?), (2_i64, true), "{options}: the stream and the watchdog");
        running.stop().await?;
        // One of them leaves a moment later.
        let left = "select count(*) from pg_stat_activity where application_name like 'pillion%'";
        while client.query_one(left, &[]).await?.try_get::<_, i64>(0)? > 0 {}
        Ok(())
    }
}

#[tokio::test]
async fn a_certificate_that_is_trusted_lets_both_connections_through() -> Result<()> {
    let encrypted = Encrypted::start().await?;
    encrypted.works("localhost", "sslmode=verify-full&sslrootcert={}/authority.crt").await?;
    encrypted.works("localhost", "sslmode=require").await?;
    encrypted.works("localhost", "").await?;
    // Another name, and the authority alone is asked for.
    encrypted.works("127.0.0.1", "sslmode=verify-ca&sslrootcert={}/authority.crt").await?;
    encrypted.works("127.0.0.1", "sslmode=require&sslrootcert={}/authority.crt").await?;
    // The name counts, not the address that is connected to.
    encrypted.works("localhost", "hostaddr=127.0.0.1&sslmode=verify-full&sslrootcert={}/authority.crt").await
}

#[tokio::test]
async fn a_client_certificate_takes_the_place_of_a_password() -> Result<()> {
    let encrypted = Encrypted::start().await?;
    encrypted.admit("hostssl all relay all cert").await?;
    let files = "sslmode=verify-full&sslrootcert={}/authority.crt&sslcert={}/relay.crt&sslkey={}/relay.key";
    encrypted.works("localhost", files).await
}

/// What was logged, at every level and by every crate, on this thread.
#[derive(Clone, Default)]
struct Logged(Arc<Mutex<Vec<u8>>>);

impl Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_refusal_says_what_to_do_and_nothing_says_the_password() -> Result<()> {
    let logged = Logged::default();
    let writer = logged.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    let encrypted = Encrypted::start().await?;
    encrypted.client_certificate("stranger-relay", &authority("stranger"))?;
    std::fs::write(encrypted.path("empty.crt"), "")?;
    let full = "sslmode=verify-full&sslrootcert={}/authority.crt";
    let scram = "hostssl all relay all scram-sha-256";
    let certificate = "hostssl all relay all scram-sha-256 clientcert=verify-full";
    let cases = [
        (scram, "127.0.0.1", full.to_owned(), "not for 127.0.0.1 but for"),
        (scram, "localhost", full.replace("authority", "stranger"), "name the file with the right one in sslrootcert"),
        (scram, "localhost", "sslmode=verify-ca&sslrootcert={}/none.crt".to_owned(), "sslrootcert = "),
        (scram, "localhost", "sslmode=verify-ca&sslrootcert={}/empty.crt".to_owned(), "no certificate in it"),
        (scram, "localhost", "sslmode=disable".to_owned(), "sslmode=require"),
        (certificate, "localhost", full.to_owned(), "sslcert and sslkey"),
        (
            certificate,
            "localhost",
            format!("{full}&sslcert={{}}/stranger-relay.crt&sslkey={{}}/stranger-relay.key"),
            "sslcert and sslkey",
        ),
        (
            scram,
            "localhost",
            format!("{full}&sslcert={{}}/relay.crt&sslkey={{}}/stranger-relay.key"),
            "cannot be used together",
        ),
        (scram, "localhost", format!("{full}&sslcert={{}}/relay.crt&sslkey={{}}/relay.crt"), "private key"),
    ];
    let mut said = String::new();
    for (admitted, host, options, expected) in &cases {
        encrypted.admit(admitted).await?;
        let config = encrypted.config(PASSWORD, host, options);
        said.push_str(&refusal(&config, expected).await?);
    }
    for password in [WRONG, ""] {
        encrypted.admit(scram).await?;
        said.push_str(&refusal(&encrypted.config(password, "localhost", full), "password").await?);
    }
    said.push_str(&String::from_utf8_lossy(&logged.0.lock().unwrap()));
    assert!(said.contains("waiting") || said.len() > 10_000, "logs are captured: {} bytes", said.len());
    for password in [PASSWORD, WRONG] {
        assert!(!said.contains(password), "{said}");
    }
    Ok(())
}

/// Everything the refused connector says, whose message must contain `expected`.
async fn refusal(config: &ConnectorConfig, expected: &str) -> Result<String> {
    let checked = checks::run(&config.postgres, &config.source()).await.unwrap_err();
    let error = start(config.clone(), &Recorder::default()).task.await?.unwrap_err();
    assert!(matches!(error, ConnectorError::Postgres(_)), "{error:?}");
    let status = config.status.snapshot().last_error.unwrap_or_default();
    assert!(status.contains(expected), "{expected}: {status}");
    let mut said = format!("{config:?}\n{} {:?} {status}\n", config.postgres, config.postgres);
    for error in [&checked as &dyn std::error::Error, &error] {
        let mut next = Some(error);
        while let Some(cause) = next {
            said.push_str(&format!("{cause}\n{cause:?}\n"));
            next = cause.source();
        }
    }
    Ok(said)
}

#[tokio::test]
async fn a_server_without_tls_is_talked_to_plainly_unless_tls_is_asked_for() -> Result<()> {
    let server = Server::start().await?;
    for plain in ["", "?sslmode=prefer", "?sslmode=disable"] {
        let mut config = config(&server);
        config.postgres = format!("{}{plain}", server.url()).parse()?;
        config.adopt_slot = true;
        let running = start(config, &Recorder::default());
        running.until_streaming().await;
        running.stop().await?;
    }
    let mut config = config(&server);
    config.postgres = format!("{}?sslmode=require", server.url()).parse()?;
    refusal(&config, "set ssl = on").await?;
    Ok(())
}
