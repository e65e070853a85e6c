//! Placeholder.
mod child_process;
mod embedded_postgres;
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    use embedded_postgres::*;
    let s = EmbeddedPostgres::start(EmbeddedPostgresOptions{binaries: std::env::args().nth(1).unwrap_or("auto".into()).parse()?, ..Default::default()}).await?;
    println!("{} {}", s.version(), s.url("postgres"));
    tokio::signal::ctrl_c().await?;
    s.stop().await
}
