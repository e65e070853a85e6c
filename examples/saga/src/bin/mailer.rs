//! The mailer service's program.

fn main() -> anyhow::Result<()> {
    pillion_saga::mailer::main()
}
