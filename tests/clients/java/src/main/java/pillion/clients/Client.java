package pillion.clients;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own producer, group consumer and admin client, driven from the command line by check.py.
 *
 * <pre>
 * Client version
 * Client create  BOOTSTRAP TOPIC PARTITIONS
 * Client produce BOOTSTRAP TOPIC NAME FIRST COUNT
 * Client consume BOOTSTRAP TOPIC GROUP     until SIGTERM; each batch is committed before the next is asked for
 * </pre>
 *
 * What is produced and printed is described in records.py.
 */
public final class Client {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "version" -> version();
            case "create" -> create(arguments[1], arguments[2], Integer.parseInt(arguments[3]));
            case "produce" -> produce(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]),
                    Integer.parseInt(arguments[5]));
            case "consume" -> consume(arguments[1], arguments[2], arguments[3]);
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
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        }
    }

    private static void produce(String bootstrap, String topic, String name, int first, int count) throws Exception {
        Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "compression.type", "snappy");
        try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int number = first; number < first + count; number++) {
                sent.add(producer.send(record(topic, name, number)));
            }
            for (Future<RecordMetadata> delivery : sent) {
                delivery.get();
            }
        }
    }

    private static ProducerRecord<String, String> record(String topic, String name, int number) {
        var record = new ProducerRecord<>(topic, "key-" + number % 31, "value-" + name + "-" + number);
        record.headers()
                .add("id", (name + "-" + number).getBytes())
                .add("traceparent", String.format("00-%032x-%016x-01", number + 1, number + 1).getBytes())
                .add("tracestate", ("test=n" + number).getBytes())
                .add("step", "1".getBytes())
                .add("step", "2".getBytes());
        return record;
    }

    private static void consume(String bootstrap, String topic, String group) {
        Map<String, Object> config = Map.of(
                "bootstrap.servers", bootstrap,
                "group.id", group,
                "auto.offset.reset", "earliest",
                "enable.auto.commit", false,
                "partition.assignment.strategy", RangeAssignor.class.getName());
        var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
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
                ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
                records.forEach(Client::print);
                if (!records.isEmpty()) {
                    consumer.commitSync();
                }
            }
        } catch (WakeupException stopped) {
            // SIGTERM; the consumer has left the group.
        }
    }

    private static void print(ConsumerRecord<String, String> record) {
        System.out.println(String.join("\t", "record", Integer.toString(record.partition()),
                Long.toString(record.offset()), record.key(), record.value(), text(record.headers())));
    }

    private static String text(Headers headers) {
        return StreamSupport.stream(headers.spliterator(), false)
                .map(header -> header.key() + "=" + new String(header.value()))
                .collect(Collectors.joining(","));
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
