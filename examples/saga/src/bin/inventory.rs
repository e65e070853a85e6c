//! The inventory service's program.

fn main() -> anyhow::Result<()> {
    pillion_saga::inventory::main()
}
