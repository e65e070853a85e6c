// Outbox connectors: a list, and one of them with its slot, its tables and its lag over time.

import { Chart, rates } from "./chart.js";
import { Tiles, facts, h, link, setText } from "./dom.js";
import { bytes, count, duration, rate, states, time } from "./format.js";
import { connectorTable } from "./overview.js";
import { fetchJson } from "./server.js";

export function connectors() {
  const table = connectorTable();

  async function update() {
    table.update((await fetchJson("api/connectors")).connectors);
  }
  return { title: "Outbox", element: h("div", {}, h("h1", {}, "Outbox connectors"), table.element), update, every: 2_000 };
}

export function connector(name) {
  const tiles = new Tiles(["State", "Published", "Behind", "WAL kept", "Dead letters", "Sessions"]);
  const published = new Chart("Published", ["events/s"], rate);
  const lag = new Chart("Behind", ["WAL not confirmed"], bytes);
  const kept = new Chart("WAL kept for the slot", ["kept"], bytes);
  const [notice, parts] = [h("p", { class: "notice bad", hidden: true }), h("div", { class: "columns" })];
  const element = h("div", {}, h("h1", {}, name), notice, tiles.element,
    h("div", { class: "charts" }, published.element, lag.element, kept.element), h("h2", {}, "As Postgres and the brokers see it"), parts);

  async function update() {
    const [seen, samples] = await Promise.all([fetchJson("api/connector", { name }), fetchJson("api/history")]);
    const [state, kind] = states[seen.state] ?? [seen.state, ""];
    notice.hidden = !seen.lastError;
    setText(notice, seen.lastError ?? "");
    tiles.set("State", state, "", kind);
    tiles.set("Published", count(seen.published), `in ${count(seen.transactions)} transactions`);
    tiles.set("Behind", seen.lagMs > 0 ? duration(seen.lagMs / 1000) : "0 s", `${bytes(seen.lagBytes)} of WAL`);
    tiles.set("WAL kept", bytes(seen.retainedBytes), limit(seen.health.slot));
    tiles.set("Dead letters", count(seen.deadLetters), seen.skipped ? `${count(seen.skipped)} skipped` : "since the start", seen.deadLetters ? "warn" : "");
    tiles.set("Sessions", count(seen.sessions), seen.sessions > 1 ? `${count(seen.sessions - 1)} reconnections` : "");
    const own = samples.filter((sample) => name in sample.connectors);
    published.update(rates(own, (sample) => sample.connectors[name].published));
    lag.update(own.map((sample) => [sample.atMs, sample.connectors[name].lagBytes]));
    kept.update(own.map((sample) => [sample.atMs, sample.connectors[name].retainedBytes]));
    parts.replaceChildren(...sections(seen));
  }
  return { title: name, element, update, every: 4_000 };
}

const limit = (slot) => (slot == null ? "" : slot.retainedBytesMax == null ? "without a limit" : `of ${bytes(slot.retainedBytesMax)} at most`);

function sections(seen) {
  const { health } = seen;
  const section = (title, ...content) => h("section", {}, h("h2", {}, title), ...content);
  const source = section("Source", facts([
    ["Database", seen.database], ["Tables", seen.tableNames.join(", ")], ["Publication", seen.publication],
    ["Last event", seen.lastEventId], ["Committed", seen.lastCommitMs ? time(seen.lastCommitMs) : null],
  ]));
  if (health.error) return [source, section("Postgres", h("p", { class: "notice bad" }, health.error))];
  const slot = health.slot
    ? facts([
      ["Slot", seen.slotName], ["Held by", health.slot.holder ?? "nobody"], ["State of its WAL", health.slot.isLost ? "lost: pillion doctor says how to go on" : health.slot.walStatus],
      ["Confirmed", `${health.slot.confirmedLsn} of ${health.serverLsn}`], ["WAL kept", `${bytes(health.slot.retainedBytes)} ${limit(health.slot)}`],
    ])
    : h("p", { class: "notice bad" }, `Replication slot ${seen.slotName} does not exist: run pillion outbox init.`);
  const tables = health.tables.length
    ? facts(health.tables.map((table) => [table.name, `${table.rows == null ? "not analysed yet" : `about ${count(table.rows)} rows`}, ${bytes(table.bytes)}`]))
    : h("p", { class: "empty" }, "None of the outbox tables exists.");
  const dead = h("div", {},
    facts([["Topic", link(seen.deadLetterTopic, "topic", seen.deadLetterTopic, "messages")], ["Records on it", health.deadLetters == null ? health.clusterError : count(health.deadLetters)]]));
  return [source, section("Replication slot", slot), section("Tables", tables), section("Dead letters", dead)];
}
