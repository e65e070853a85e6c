// Writes an outbox and reads its events, with pg and kafkajs.
//
//   outbox.mjs write POSTGRES ORDERS                  places orders; every fifth is rolled back
//   outbox.mjs read POSTGRES BOOTSTRAP GROUP RECORDS  takes payment for each once; ends after so many records
//
// Both print `event id <tab> traceparent`: of each event committed, and of each acted upon.

import { randomUUID } from "node:crypto";
import { context, propagation, trace } from "@opentelemetry/api";
import { NodeTracerProvider } from "@opentelemetry/sdk-trace-node";
import { Kafka, logLevel } from "kafkajs";
import pg from "pg";

class SoldOut extends Error {}

// region: transaction
/** Commits what `work` did, or rolls it back if it threw. */
async function inTransaction(pool, work) {
  const client = await pool.connect();
  try {
    await client.query("BEGIN");
    const result = await work(client);
    await client.query("COMMIT");
    return result;
  } catch (error) {
    await client.query("ROLLBACK");
    throw error;
  } finally {
    client.release();
  }
}
// endregion

// region: write
function placeOrder(pool, orderId, inStock) {
  return inTransaction(pool, async (client) => {
    await client.query("INSERT INTO orders (id, state) VALUES ($1, 'PLACED')", [orderId]);
    const eventId = randomUUID();
    await client.query(
      `INSERT INTO outbox (id, aggregatetype, aggregateid, type, payload, tracingspancontext)
       VALUES ($1, $2, $3, $4, $5, $6)`,
      [eventId, "order", String(orderId), "OrderPlaced", { order: orderId, total: 100 }, traceContext()],
    );
    if (!inStock) throw new SoldOut(); // no order, no event
    return eventId;
  });
}
// endregion

// region: trace_context
/** The current span as the text of tracingspancontext: one name=value a line, null outside of a span. */
function traceContext() {
  const carrier = {};
  propagation.inject(context.active(), carrier);
  const lines = Object.entries(carrier).map(([name, value]) => `${name}=${value}`);
  return lines.length ? lines.join("\n") : null;
}
// endregion

// region: read
async function read(pool, bootstrap, group, records) {
  const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.WARN });
  const consumer = kafka.consumer({ groupId: group, readUncommitted: false }); // false is the default
  await consumer.connect();
  await consumer.subscribe({ topics: ["outbox.event.order"], fromBeginning: true });
  await new Promise((resolve, reject) => {
    consumer.on(consumer.events.CRASH, ({ payload }) => reject(payload.error));
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ topic, partition, message }) => {
        if (records === 0) return;
        await takePayment(pool, message);
        const next = String(BigInt(message.offset) + 1n);
        await consumer.commitOffsets([{ topic, partition, offset: next }]); // only then: a crash before it repeats
        if (--records === 0) resolve();
      },
    });
  });
  await consumer.disconnect();
}

async function takePayment(pool, message) {
  const eventId = message.headers.id.toString();
  const isFirst = await inTransaction(pool, async (client) => { // the effect and the memory of it, together
    const remember = "INSERT INTO inbox (event_id) VALUES ($1) ON CONFLICT DO NOTHING";
    const isFirst = (await client.query(remember, [eventId])).rowCount === 1;
    if (isFirst) {
      await client.query("INSERT INTO payments (order_id) VALUES ($1)", [message.key.toString()]);
    }
    return isFirst;
  });
  if (isFirst) console.log(`${eventId}\t${message.headers.traceparent}`);
}
// endregion

async function write(pool, orders) {
  new NodeTracerProvider().register();
  for (let orderId = 1; orderId <= orders; orderId++) {
    await trace.getTracer("example").startActiveSpan("place order", async (span) => {
      try {
        const eventId = await placeOrder(pool, orderId, orderId % 5 !== 0);
        const { traceId, spanId, traceFlags } = span.spanContext();
        console.log(`${eventId}\t00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`);
      } catch (error) {
        if (!(error instanceof SoldOut)) throw error;
      } finally {
        span.end();
      }
    });
  }
}

const [command, postgres, ...rest] = process.argv.slice(2);
const pool = new pg.Pool({ connectionString: postgres });
if (command === "write") await write(pool, Number(rest[0]));
else await read(pool, rest[0], rest[1], Number(rest[2]));
await pool.end();
