//! The order service's program.

fn main() -> anyhow::Result<()> {
    pillion_saga::order::main()
}
