use clap::CommandFactory;

use super::*;

fn parsed(arguments: &str) -> Result<CommandLine, clap::Error> {
    CommandLine::try_parse_from(std::iter::once("pillion").chain(arguments.split_whitespace()))
}

#[test]
fn the_command_line_is_consistent() {
    CommandLine::command().debug_assert();
}

#[test]
fn flags_that_scripts_rely_on_are_taken() {
    for arguments in [
        "broker --data-dir d --listen 127.0.0.1:0",
        "broker --data-dir d --listen 127.0.0.1:0 --listener A://0.0.0.0:1=a:2 --listener B://[::1]:0 --set a=b --set c=d",
        "cdc --postgres postgresql://u@h/d --bootstrap 127.0.0.1:9092",
        "cdc --postgres URL --bootstrap H:1 --slot s --publication p --table a.o --table b.o --set k=v",
        "run --data-dir d --listen 127.0.0.1:0 --postgres URL --slot s --config f.toml",
        "dev --table orders.outbox",
        "demo --once --services-dir target/debug",
        "outbox init --table a.o --role r",
        "outbox init --postgres URL --apply",
        "outbox init --partitioned --role r",
        "outbox init --partitioned=week",
        "outbox init --inbox --postgres URL --apply",
        "outbox init --inbox=stock.inbox",
        "outbox status --postgres URL --bootstrap h:1 --json",
        "outbox status --config f.toml --connector orders",
        "outbox prune --older-than 7d --every 1h --batch 100 --wait 30s --postgres URL",
        "outbox prune --older-than 12h --dry-run --config f.toml",
        "outbox republish --from 16/B374D848 --postgres URL --bootstrap h:1 --dry-run",
        "doctor --postgres URL --bootstrap h:1 --json",
        "topic create t -p 3 --config cleanup.policy=compact",
        "topic list --json",
        "topic describe t",
        "topic delete t -b h:1",
        "produce t -K : -H a=b -z zstd --acks 1",
        "consume t --from -10 -n 3 --exit-at-end -f %s",
        "consume t -o end -J",
        "log dump d/orders-0 --records --offsets 3..7",
        "log dump a.log b.index --json --offsets ..7",
        "log verify d --json",
        "log verify d --notes",
        "config --set num.partitions=3",
    ] {
        if let Err(error) = parsed(arguments) {
            panic!("{arguments}\n{error}");
        }
    }
}

#[test]
fn a_mistake_on_the_command_line_is_a_usage_error() {
    for arguments in [
        "",
        "brooker",
        "topic create",
        "topic create t -p 0",
        "consume",
        "produce t --acks 2",
        "consume t -o x",
        "log dump",
        "log dump d --offsets 7..3",
    ] {
        let error = parsed(arguments).unwrap_err();
        assert_eq!(error.exit_code(), 2, "{arguments}");
    }
}

#[test]
fn every_command_explains_itself_with_examples() {
    fn check(command: &mut clap::Command, path: &str) {
        assert!(command.get_about().is_some(), "{path} says nothing about itself");
        for argument in
            command.get_arguments().filter(|argument| !["help", "version"].contains(&argument.get_id().as_str()))
        {
            assert!(argument.get_help().is_some(), "{path}: {} is not explained", argument.get_id());
        }
        for subcommand in command.get_subcommands_mut() {
            let path = format!("{path} {}", subcommand.get_name());
            check(subcommand, &path);
        }
    }
    let mut command = CommandLine::command();
    check(&mut command, "pillion");
    for subcommand in command.get_subcommands_mut().filter(|subcommand| subcommand.get_name() != "outbox") {
        let help = subcommand.render_long_help().to_string();
        assert!(help.contains("Examples:"), "{} has no examples", subcommand.get_name());
    }
}
