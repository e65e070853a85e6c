package pillion.clients;

import java.time.Duration;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** Before 2.5: offsets go with the group's name alone. */
final class Version {
    private Version() {}

    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) {
        return consumer.poll(Duration.ofSeconds(1));
    }

    static void sendOffsets(KafkaProducer<String, String> producer, Map<TopicPartition, OffsetAndMetadata> offsets,
            KafkaConsumer<String, String> consumer, String group) {
        producer.sendOffsetsToTransaction(offsets, group);
    }
}
