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
        "config --config f --changed --json",
        "config check --config server.properties --json",
        "config keys --markdown",
        "consume a b --from 2026-01-31T12:00:00Z --to @5 --key k --header h=v --header h --pretty",
        "consume t --group g -n 1",
        "produce t f.json -k 1",
        "produce t --json --rate 10",
        "group list --state stable --json",
        "group describe g h --json",
        "group reset-offsets g --topic t:0,1 --to start --dry-run",
        "group reset-offsets g --all-topics --shift-by -3 --execute",
        "group delete-offsets g --topic t",
        "group delete g --if-exists",
        "dead-letter list --topic d --table a.b --reason r --json",
        "dead-letter show 0:1 0:2 --json",
        "dead-letter replay 0:1 --postgres URL --bootstrap h:1 --column a=b --column c --dry-run",
        "dead-letter replay --all --config f.toml",
        "status --watch --every 1s --json --postgres URL",
        "bench produce -n 5 --size 10 --acks 1 -z lz4 --partitions 3 --json",
        "bench outbox --config f.toml",
        "version --json",
        "generate completions zsh",
        "generate man d",
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
        "consume t --group g --partition 1",
        "consume t --to -1",
        "group reset-offsets g --topic t",
        "group reset-offsets g --to start",
        "group reset-offsets g --topic t --to start --shift-by 1",
        "group reset-offsets g --topic t --to start --execute --dry-run",
        "dead-letter show 5",
        "dead-letter replay --config f",
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

/// The words of a line as a shell takes them: single and double quotes, no escapes.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut quote, mut is_open) = (Vec::new(), None, false);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), other) if open == other => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                if !is_open {
                    words.push(String::new());
                }
                is_open = true;
            }
            (None, ' ') => is_open = false,
            (_, other) => {
                if !is_open {
                    words.push(String::new());
                }
                is_open = true;
                words.last_mut().unwrap().push(other);
            }
        }
    }
    words
}

/// What stands in a document as a command: in backticks, or on an indented line, up to a pipe or a redirection.
fn commands_of(document: &str) -> Vec<String> {
    let inline = document.split('`').skip(1).step_by(2);
    let blocks = document.lines().filter_map(|line| line.strip_prefix("    "));
    let whole = inline.chain(blocks).map(str::trim).filter(|text| text.starts_with("pillion "));
    whole.map(|text| text.split([';', '|', '>', '<']).next().unwrap().trim().to_owned()).collect()
}

#[test]
fn every_command_in_the_documents_is_one() {
    for (name, document, at_least) in [
        ("docs/commands.md", include_str!("../../../docs/commands.md"), 60),
        ("docs/install.md", include_str!("../../../docs/install.md"), 3),
    ] {
        let commands = commands_of(document);
        assert!(commands.len() >= at_least, "{name} has {} commands", commands.len());
        for command in commands.iter().filter(|command| !command.contains("COMMAND") && *command != "pillion --help") {
            if let Err(error) = CommandLine::try_parse_from(words(command)) {
                panic!("{name}: {command}\n{error}");
            }
        }
    }
}

#[test]
fn what_prints_something_prints_json_too() {
    fn check(command: &clap::Command, path: &str, without: &mut Vec<String>) {
        let subcommands: Vec<_> = command.get_subcommands().filter(|one| one.get_name() != "help").collect();
        let has_json = command.get_arguments().any(|argument| argument.get_id() == "json");
        if subcommands.is_empty() && !has_json {
            without.push(path.to_owned());
        }
        subcommands.iter().for_each(|one| check(one, format!("{path} {}", one.get_name()).trim(), without));
    }
    let mut without = Vec::new();
    check(&CommandLine::command(), "", &mut without);
    // Those that run on, those that say what they did in a line, and those that write a file's content.
    let known = [
        "run",
        "broker",
        "cdc",
        "dev",
        "demo",
        "outbox init",
        "outbox prune",
        "outbox republish",
        "dead-letter replay",
        "topic create",
        "topic alter",
        "topic delete-records",
        "topic delete",
        "group delete-offsets",
        "group delete",
        "generate completions",
        "generate man",
    ];
    assert_eq!(without, known);
}
