// confluent-kafka-javascript, librdkafka with the API of kafkajs; see ../kafkajs_api.mjs.

import confluent from '@confluentinc/kafka-javascript'
import { createRequire } from 'node:module'
import { run } from '../kafkajs_api.mjs'

const { CODES, KafkaJS, librdkafkaVersion } = confluent
const { version } = createRequire(import.meta.url)('@confluentinc/kafka-javascript/package.json')

run({
  version: () => `@confluentinc/kafka-javascript ${version} (librdkafka ${librdkafkaVersion})`,
  kafka: bootstrap => new KafkaJS.Kafka({ kafkaJS: { brokers: [bootstrap], logLevel: KafkaJS.logLevel.ERROR } }),
  producer: (kafka, transactionalId) => kafka.producer({
    kafkaJS: { acks: -1, compression: KafkaJS.CompressionTypes.LZ4, ...(transactionalId && { transactionalId }) },
    partitioner: 'murmur2_random',
  }),
  sending: what => what,
  consumer: (kafka, groupId, topic, assigned) => kafka.consumer({
    kafkaJS: {
      groupId, fromBeginning: true, autoCommit: false, heartbeatInterval: 1000,
      partitionAssigners: [KafkaJS.PartitionAssigners.range],
    },
    rebalance_cb(error, partitions) {
      if (error.code === CODES.ERRORS.ERR__ASSIGN_PARTITIONS) assigned(partitions.map(each => each.partition))
    },
  }),
  subscribe: (consumer, topic) => consumer.subscribe({ topic }),
  running: what => what,
  offsets: ({ consumer, topics }) => ({ consumer, topics }),
})
