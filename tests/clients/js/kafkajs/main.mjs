// kafkajs, the most used client of Node.js, though it has had no release since 2023; see ../kafkajs_api.mjs.

import { createRequire } from 'node:module'
import { CompressionTypes, Kafka, logLevel, Partitioners } from 'kafkajs'
import { run } from '../kafkajs_api.mjs'

const { version } = createRequire(import.meta.url)('kafkajs/package.json')

run({
  version: () => `kafkajs ${version}`,
  kafka: bootstrap => new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR }),
  producer: (kafka, transactionalId) => kafka.producer({
    createPartitioner: Partitioners.DefaultPartitioner,
    ...(transactionalId && { transactionalId, idempotent: true, maxInFlightRequests: 1 }),
  }),
  sending: what => ({ ...what, acks: -1, compression: CompressionTypes.GZIP }),
  consumer(kafka, groupId, topic, assigned) {
    const consumer = kafka.consumer({ groupId, heartbeatInterval: 1000, maxWaitTimeInMs: 200 })
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => assigned(payload.memberAssignment[topic] ?? []))
    return consumer
  },
  subscribe: (consumer, topic) => consumer.subscribe({ topic, fromBeginning: true }),
  running: what => ({ ...what, autoCommit: false }),
  offsets: ({ group, topics }) => ({ consumerGroupId: group, topics }),
})
