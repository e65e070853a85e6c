// Outbox connectors: a list, and one of them with its slot, its tables, its lag over time and its dead letters.

import { Chart, rates } from "./chart.js";
import { deadLetters } from "./deadletters.js";
import { Tiles, facts, h, setText } from "./dom.js";
import { bytes, count, duration, rate, several, states, time } from "./format.js";
import { connectorTable } from "./overview.js";
import { Refusal, fetchJson } from "./server.js";

const ASK_AGAIN = 10_000;

export function connectors() {
  const table = connectorTable();
  async function update() {
    table.update((await fetchJson("api/connectors")).connectors);
  }
  return { title: "Outbox", element: h("div", {}, h("h1", {}, "Outbox connectors"), table.element), update, every: 2_000 };
}

export function connector(name, settings) {
  const tiles = new Tiles(["State", "Published", "Behind", "WAL kept", "Dead letters", "Sessions"]);
  const published = new Chart("Published", ["events/s"], rate);
  const lag = new Chart("Behind", ["WAL not confirmed"], bytes);
  const kept = new Chart("WAL kept for the slot", ["kept"], bytes);
  const [notice, parts] = [h("p", { class: "notice bad", hidden: true }), h("div", { class: "columns" })];
  const letters = deadLetters(name, settings);
  const element = h("div", {}, h("h1", {}, name), notice, tiles.element,
    h("div", { class: "charts" }, published.element, lag.element, kept.element),
    h("h2", {}, "As Postgres sees it"), parts, h("h2", {}, "Dead letters"), letters.element);
  const own = [];
  let [health, asked] = [null, -Infinity];

  async function update() {
    const [all, samples] = await Promise.all([fetchJson("api/connectors"), fetchJson("api/history")]);
    const seen = all.connectors.find((one) => one.name === name);
    if (!seen) throw new Refusal(404, "There is no connector of this name.");
    const [state, kind] = states[seen.state] ?? [seen.state, ""];
    notice.hidden = !seen.lastError;
    setText(notice, seen.lastError ?? "");
    tiles.set("State", state, "", kind);
    tiles.set("Published", count(seen.published), `in ${several(seen.transactions, "transaction")}`);
    tiles.set("Behind", seen.lagMs > 0 ? duration(seen.lagMs / 1000) : "0 s", `${bytes(seen.lagBytes)} of WAL`);
    tiles.set("WAL kept", bytes(seen.retainedBytes), limit(health?.slot));
    tiles.set("Dead letters", count(seen.deadLetters), seen.skipped ? `${count(seen.skipped)} skipped` : "since the start", seen.deadLetters ? "warn" : "");
    tiles.set("Sessions", count(seen.sessions), seen.sessions > 1 ? several(seen.sessions - 1, "reconnection") : "");
    own.push({ atMs: Date.now(), ...seen });
    if (own.length > 900) own.shift();
    const before = samples.filter((sample) => name in sample.connectors && sample.atMs < own[0].atMs);
    const live = [...before.map((sample) => ({ atMs: sample.atMs, ...sample.connectors[name] })), ...own];
    published.update(rates(live, (sample) => sample.published));
    lag.update(live.map((sample) => [sample.atMs, sample.lagBytes]));
    kept.update(live.map((sample) => [sample.atMs, sample.retainedBytes]));
    if (performance.now() - asked > ASK_AGAIN) {
      // It asks Postgres and the brokers anew, which is not done for each look.
      health = (await fetchJson("api/connector", { name })).health;
      asked = performance.now();
      parts.replaceChildren(...sections({ ...seen, health }));
      await letters.update({ ...seen, health });
    }
  }
  return { title: name, element, update, every: 2_000 };
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
      ["Slot", seen.slotName], ["Held by", health.slot.holder ?? "nobody"], ["Its WAL is", health.slot.isLost ? "lost: pillion doctor says how to go on" : health.slot.walStatus],
      ["Confirmed", `${health.slot.confirmedLsn} of ${health.serverLsn}`], ["WAL kept", `${bytes(health.slot.retainedBytes)}, ${limit(health.slot)}`],
    ])
    : h("p", { class: "notice bad" }, `Replication slot ${seen.slotName} does not exist: run pillion outbox init.`);
  const tables = health.tables.length
    ? facts(health.tables.map((table) => [table.name, `${table.rows == null ? "not analysed yet" : `about ${several(table.rows, "row")}`}, ${bytes(table.bytes)}`]))
    : h("p", { class: "empty" }, "None of the outbox tables exists.");
  return [source, section("Replication slot", slot), section("Tables", tables)];
}
