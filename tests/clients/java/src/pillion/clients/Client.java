package pillion.clients;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producer, group consumer, admin client and transactions, of any version since 1.1, driven from the command line
 * by check.py; records.py describes the commands. What changed from version to version is in {@code Version}, of which each
 * version has its own.
 */
public final class Client {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "version" -> version();
            case "create" -> create(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
            case "produce" -> produce(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]),
                    Integer.parseInt(arguments[5]));
            case "consume" -> consume(arguments[1], arguments[2], arguments[3]);
            case "transact" -> transact(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]),
                    Integer.parseInt(arguments[5]), arguments[6].split(","));
            case "copy" -> copy(arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
                    Integer.parseInt(arguments[6]), arguments[7].equals("commit"));
            default -> throw new IllegalArgumentException("no such command: " + arguments[0]);
        }
    }

    private static void version() throws IOException {
        var about = new Properties();
        try (InputStream file = KafkaConsumer.class.getResourceAsStream("/kafka/kafka-version.properties")) {
            about.load(file);
        }
        System.out.println("kafka-clients " + about.getProperty("version"));
    }

    private static void create(String bootstrap, String topic, int partitions) throws Exception {
        try (AdminClient admin = AdminClient.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
    }

    private static void produce(String bootstrap, String topic, String name, int first, int count) throws Exception {
        try (var producer = producer(Map.of("bootstrap.servers", bootstrap, "compression.type", "snappy"))) {
            send(producer, Records.of(topic, name, first, count));
        }
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> config) {
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private static KafkaProducer<String, String> producer(String bootstrap, String transactionalId) {
        var producer = producer(Map.of("bootstrap.servers", bootstrap, "transactional.id", transactionalId));
        producer.initTransactions();
        return producer;
    }

    /** Returns when all is acknowledged. */
    private static void send(KafkaProducer<String, String> producer, List<ProducerRecord<String, String>> records)
            throws Exception {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        for (var record : records) {
            sent.add(producer.send(record));
        }
        producer.flush();
        for (Future<RecordMetadata> delivery : sent) {
            delivery.get();
        }
    }

    private static void transact(String bootstrap, String topic, String name, int first, int count, String[] ends)
            throws Exception {
        try (var producer = producer(bootstrap, name)) {
            for (int index = 0; index < ends.length; index++) {
                producer.beginTransaction();
                send(producer, Records.of(topic, name, first + index * count, count));
                end(producer, ends[index].equals("commit"));
            }
        }
    }

    private static void end(KafkaProducer<String, String> producer, boolean commits) {
        if (commits) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
    }

    private static KafkaConsumer<String, String> consumer(String bootstrap, String group) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", group,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false,
                "isolation.level", "read_committed",
                "heartbeat.interval.ms", 1000,
                "partition.assignment.strategy", RangeAssignor.class.getName());
        return new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
    }

    private static void consume(String bootstrap, String topic, String group) {
        var consumer = consumer(bootstrap, group);
        Thread main = Thread.currentThread();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join();
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }));
        try (consumer) {
            consumer.subscribe(List.of(topic), new Assignment());
            while (true) {
                ConsumerRecords<String, String> records = Version.poll(consumer);
                records.forEach(Records::print);
                if (!records.isEmpty()) {
                    consumer.commitSync();
                    next(records).forEach((partition, next) ->
                            System.out.println("committed\t" + partition.partition() + "\t" + (next.offset() - 1)));
                }
            }
        } catch (WakeupException stopped) {
            // SIGTERM; the consumer has left the group.
        }
    }

    private static void copy(String bootstrap, String source, String target, String group, String id, int count,
            boolean commits) throws Exception {
        try (var producer = producer(bootstrap, id); var consumer = consumer(bootstrap, group)) {
            consumer.subscribe(List.of(source));
            int left = count;
            while (left > 0) {
                ConsumerRecords<String, String> records = Version.poll(consumer);
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                List<ProducerRecord<String, String>> copies = new ArrayList<>();
                for (ConsumerRecord<String, String> record : records) {
                    copies.add(new ProducerRecord<>(target, null, record.key(), record.value(), record.headers()));
                }
                send(producer, copies);
                Version.sendOffsets(producer, next(records), consumer, group);
                end(producer, commits);
                left = commits ? left - records.count() : 0;
            }
        }
    }

    /** The offset after the last record of each partition. */
    private static Map<TopicPartition, OffsetAndMetadata> next(ConsumerRecords<String, String> records) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (ConsumerRecord<String, String> record : records) {
            offsets.put(new TopicPartition(record.topic(), record.partition()),
                    new OffsetAndMetadata(record.offset() + 1));
        }
        return offsets;
    }

    /** Prints what the range assignor gave; it takes everything away before it gives anew. */
    private static final class Assignment implements ConsumerRebalanceListener {
        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            System.out.println("assigned\t" + partitions.stream()
                    .map(each -> Integer.toString(each.partition()))
                    .collect(Collectors.joining(",")));
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {}
    }
}
