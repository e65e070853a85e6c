// @platformatic/kafka, the maintained client in pure JavaScript; see ../program.mjs. It sends one header of a name.

import { createRequire } from 'node:module'
import {
  Admin, Consumer, FetchIsolationLevels, MessagesStreamFallbackModes, MessagesStreamModes, Producer, stringDeserializers,
  stringSerializers,
} from '@platformatic/kafka'
import { main, printAssigned, printCommitted, printRecord, stopped } from '../program.mjs'

const { version } = createRequire(import.meta.url)('../platformatic/node_modules/@platformatic/kafka/package.json')

const base = bootstrap => ({ clientId: 'clients', bootstrapBrokers: [bootstrap] })

async function closing(client, work) {
  try {
    return await work(client)
  } finally {
    await client.close(true)
  }
}

const producing = (bootstrap, transactionalId, work) =>
  closing(new Producer({
    ...base(bootstrap), serializers: stringSerializers, idempotent: true,
    // It asks for the producer id 0 unless told that it has none yet, and brokers then take it for a fenced one.
    ...(transactionalId && { transactionalId, producerId: -1n, producerEpoch: -1 }),
  }), work)

const messages = (topic, records) =>
  records.map(({ key, value, headers }) => ({ topic, key, value, headers: new Map(headers) }))

function member(bootstrap, groupId) {
  return new Consumer({ ...base(bootstrap), groupId, deserializers: stringDeserializers, heartbeatInterval: 1000 })
}

function reading(consumer, topic) {
  return consumer.consume({
    topics: [topic], autocommit: false, maxWaitTime: 200, isolationLevel: FetchIsolationLevels.READ_COMMITTED,
    mode: MessagesStreamModes.COMMITTED, fallbackMode: MessagesStreamFallbackModes.EARLIEST,
  })
}

main({
  version: () => `@platformatic/kafka ${version}`,

  create: (bootstrap, topic, partitions) =>
    closing(new Admin(base(bootstrap)), admin => admin.createTopics({ topics: [topic], partitions, replicas: 1 })),

  produce: (bootstrap, topic, records) =>
    producing(bootstrap, null, producer => producer.send({ messages: messages(topic, records), compression: 'gzip' })),

  async transact(bootstrap, topic, name, transactions) {
    await producing(bootstrap, name, async producer => {
      for (const { records, commits } of transactions) {
        const transaction = await producer.beginTransaction()
        await transaction.send({ messages: messages(topic, records) })
        await (commits ? transaction.commit() : transaction.abort())
      }
    })
  },

  async consume(bootstrap, topic, group) {
    const consumer = member(bootstrap, group)
    consumer.on('consumer:group:join', ({ assignments }) => printAssigned(assignments.flatMap(each => each.partitions)))
    await closing(consumer, async () => {
      const stream = await reading(consumer, topic)
      const ended = stopped().then(() => stream.close())
      for await (const message of stream) {
        printRecord(message.partition, message.offset, message.key, message.value, [...message.headers])
        await message.commit()
        printCommitted(message.partition, message.offset)
      }
      await ended
    })
  },

  async copy(bootstrap, source, target, group, id, count, commits) {
    await producing(bootstrap, id, producer => closing(member(bootstrap, group), async consumer => {
      const stream = await reading(consumer, source)
      let left = count
      for await (const message of stream) {
        const transaction = await producer.beginTransaction()
        await transaction.addConsumer(consumer)
        await transaction.send({ messages: messages(target, [message]) })
        await transaction.addOffset(message)
        await (commits ? transaction.commit() : transaction.abort())
        left = commits ? left - 1 : 0
        if (left === 0) break
      }
    }))
  },
})
