#!/usr/bin/env bash
# Builds the programs of one kind, if they have changed, and prints the command that starts them, a word a line.
#
#   examples/outbox/build.sh rust-tokio-postgres|rust-sqlx|python|go|node|java-jdbc|java-spring
#
# Fetches from the package registries what a program needs; that, and what is built, goes to target/outbox.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=${CARGO_TARGET_DIR:-$here/../../target}
mkdir -p "$target/outbox"
built=$(cd "$target/outbox" && pwd)

rust() { # rust NAME OPTIONS...
  cargo build --quiet --manifest-path "$here/rust/Cargo.toml" --bin "$@" >&2
  words=("$(cd "$target" && pwd)/debug/$1")
}

python() {
  local home=$built/python
  if ! cmp --silent "$here/python/requirements.txt" "$home/requirements.txt"; then
    python3 -m venv --clear "$home"
    "$home/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/python/requirements.txt" >&2
    cp "$here/python/requirements.txt" "$home"
  fi
  words=("$home/bin/python" -B "$here/python/outbox.py")
}

node_modules() {
  local home=$built/node
  mkdir -p "$home"
  cp "$here"/node/*.mjs "$home"
  if ! cmp --silent "$here/node/package.json" "$home/installed.json"; then
    cp "$here/node/package.json" "$home"
    npm --prefix "$home" install --no-audit --no-fund --loglevel=error >&2
    cp "$here/node/package.json" "$home/installed.json"
  fi
  words=(node "$home/outbox.mjs")
}

java_classes() { # java_classes MAIN
  local stamp=$built/java/stamp
  if [[ ! -f $stamp || -n $(find "$here/java" -type f -newer "$stamp") ]]; then
    # Maven says what failed on standard output, and resets the terminal's colours when nothing did.
    mvn --batch-mode --quiet --file "$here/java/pom.xml" "-Dbuilt=$built/java" compile dependency:copy-dependencies \
      >"$built/maven.log" 2>&1 || { cat "$built/maven.log" >&2; return 1; }
    touch "$stamp"
  fi
  words=(java -Xmx256M -cp "$built/java/classes:$built/java/libraries/*" "$1")
}

case ${1:-} in
  rust-tokio-postgres) rust outbox-tokio-postgres ;;
  rust-sqlx) rust outbox-sqlx --features sqlx ;;
  python) python ;;
  go) go -C "$here/go" build -o "$built/go" . && words=("$built/go") ;;
  node) node_modules ;;
  java-jdbc) java_classes shop.jdbc.Outbox ;;
  java-spring) java_classes shop.spring.Application ;;
  *) sed -n '4p' "${BASH_SOURCE[0]}" >&2; exit 2 ;;
esac
printf '%s\n' "${words[@]}"
