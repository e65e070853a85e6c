// A client with the API of kafkajs: kafkajs itself, and its successor in confluent-kafka-javascript. They differ in how they
// are set up, which `library` knows.

import { main, printAssigned, printCommitted, printRecord, stopped } from './program.mjs'

// kafkajs keeps headers in an object; a repeated name has an array.
function outgoing({ key, value, headers }) {
  const object = {}
  for (const [name, text] of headers) {
    object[name] = name in object ? [object[name], text].flat() : text
  }
  return { key, value, headers: object }
}

function pairs(headers) {
  return Object.entries(headers ?? {}).flatMap(([name, values]) => [values].flat().map(each => [name, each.toString()]))
}

export function run(library) {
  async function connected(client, work) {
    await client.connect()
    try {
      return await work(client)
    } finally {
      await client.disconnect()
    }
  }

  const send = (producer, topic, records) => producer.send(library.sending({ topic, messages: records.map(outgoing) }))

  return main({
    version: library.version,

    create: (bootstrap, topic, numPartitions) =>
      connected(library.kafka(bootstrap).admin(), admin => admin.createTopics({ topics: [{ topic, numPartitions }] })),

    produce: (bootstrap, topic, records) =>
      connected(library.producer(library.kafka(bootstrap)), producer => send(producer, topic, records)),

    async transact(bootstrap, topic, name, transactions) {
      await connected(library.producer(library.kafka(bootstrap), name), async producer => {
        for (const { records, commits } of transactions) {
          const transaction = await producer.transaction()
          await send(transaction, topic, records)
          await (commits ? transaction.commit() : transaction.abort())
        }
      })
    },

    async consume(bootstrap, topic, group) {
      const consumer = library.consumer(library.kafka(bootstrap), group, topic, printAssigned)
      await connected(consumer, async () => {
        await library.subscribe(consumer, topic)
        await consumer.run(library.running({
          eachBatch: async ({ batch }) => {
            for (const { offset, key, value, headers } of batch.messages) {
              printRecord(batch.partition, offset, key, value, pairs(headers))
            }
            const last = BigInt(batch.messages.at(-1).offset)
            await consumer.commitOffsets([{ topic, partition: batch.partition, offset: (last + 1n).toString() }])
            printCommitted(batch.partition, last)
          },
        }))
        await stopped()
      })
    },

    async copy(bootstrap, source, target, group, id, count, commits) {
      const kafka = library.kafka(bootstrap)
      const consumer = library.consumer(kafka, group, source, () => {})
      await connected(library.producer(kafka, id), producer => connected(consumer, async () => {
        let left = count
        await library.subscribe(consumer, source)
        await new Promise((done, failed) => {
          const eachBatch = async ({ batch }) => {
            if (left <= 0) return
            const transaction = await producer.transaction()
            const records = batch.messages.map(({ key, value, headers }) => ({ key, value, headers: pairs(headers) }))
            await send(transaction, target, records)
            const offset = (BigInt(batch.messages.at(-1).offset) + 1n).toString()
            const topics = [{ topic: source, partitions: [{ partition: batch.partition, offset }] }]
            await transaction.sendOffsets(library.offsets({ consumer, group, topics }))
            await (commits ? transaction.commit() : transaction.abort())
            left = commits ? left - records.length : 0
            if (left <= 0) done()
          }
          consumer.run(library.running({ eachBatch: batch => eachBatch(batch).catch(failed) })).catch(failed)
        })
      }))
    },
  })
}
