//! The shop: every service of the example in one program, which the first argument chooses. One program, because they
//! share nearly all of their code: it is linked once and fits into one small image. Each runs as a process of its own.
//!
//!     shop order              a service, until SIGTERM or SIGINT; what it is told stands in its environment
//!     shop order --migrate    its tables only

mod customer;
mod healthy;
mod history;
mod loyalty;
mod place_orders;
mod reconcile;
mod storefront;

use std::process::ExitCode;

use pillion_saga::{inventory, mailer, order, payment};

const USAGE: &str = "\
usage: shop SERVICE [--migrate]

services: storefront, customer, order, payment, inventory, mailer, loyalty, history
          loyalty and history also take --rebuild
tools:    place-orders              places a few orders at SHOP_URL and waits for their end
          reconcile [--repair]      compares what the services believe
          healthy                   asks the service at HTTP_LISTEN whether it is well";

fn main() -> ExitCode {
    let outcome = match std::env::args().nth(1).unwrap_or_default().as_str() {
        "storefront" => storefront::main(),
        "customer" => customer::main(),
        "order" => order::main(),
        "payment" => payment::main(),
        "inventory" => inventory::main(),
        "mailer" => mailer::main(),
        "loyalty" => loyalty::main(),
        "history" => history::main(),
        "place-orders" => place_orders::main(),
        "reconcile" => return reconcile::main(),
        "healthy" => return healthy::main(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("Error: {error:?}");
            ExitCode::FAILURE
        }
    }
}
