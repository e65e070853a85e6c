//! The payment service's program.

fn main() -> anyhow::Result<()> {
    pillion_saga::payment::main()
}
