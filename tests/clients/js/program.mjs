// The command line that the JavaScript clients share, and the records they send; ../records.py describes both.

import process from 'node:process'

// The records of a producer, with headers as pairs, for names may repeat.
export function records(name, first, count) {
  return Array.from({ length: count }, (_, index) => record(name, first + index))
}

function record(name, number) {
  const hex = digits => (number + 1).toString(16).padStart(digits, '0')
  return {
    key: `key-${number % 31}`,
    value: `value-${name}-${number}`,
    headers: [
      ['id', `${name}-${number}`],
      ['traceparent', `00-${hex(32)}-${hex(16)}-01`],
      ['tracestate', `test=n${number}`],
      ['step', '1'],
      ['step', '2'],
    ],
  }
}

export function printAssigned(partitions) {
  print('assigned', [...partitions].sort((a, b) => a - b).join(','))
}

export function printRecord(partition, offset, key, value, headers) {
  print('record', partition, offset, key, value, headers.map(([name, text]) => `${name}=${text}`).join(','))
}

export function printCommitted(partition, offset) {
  print('committed', partition, offset)
}

function print(...fields) {
  process.stdout.write(fields.join('\t') + '\n')
}

// Resolves at SIGTERM.
export function stopped() {
  return new Promise(resolve => process.once('SIGTERM', resolve))
}

// Runs the command that the program was started with on a client: { version, create, produce, consume, transact, copy }.
export async function main(client) {
  const [command, ...words] = process.argv.slice(2)
  const commands = {
    version: () => print(client.version()),
    create: (bootstrap, topic, partitions) => client.create(bootstrap, topic, Number(partitions)),
    produce: (bootstrap, topic, name, first, count) =>
      client.produce(bootstrap, topic, records(name, Number(first), Number(count))),
    consume: (bootstrap, topic, group) => client.consume(bootstrap, topic, group),
    transact: (bootstrap, topic, name, first, count, ends) =>
      client.transact(bootstrap, topic, name, ends.split(',').map((end, index) => ({
        records: records(name, Number(first) + index * Number(count), Number(count)),
        commits: end === 'commit',
      }))),
    copy: (bootstrap, source, target, group, id, count, end) =>
      client.copy(bootstrap, source, target, group, id, Number(count), end === 'commit'),
  }
  try {
    await commands[command](...words)
    process.exit(0)
  } catch (error) {
    console.error(error)
    process.exit(1)
  }
}
