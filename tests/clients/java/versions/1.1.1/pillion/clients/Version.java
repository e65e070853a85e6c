package pillion.clients;

import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;

/** Before 2.0: waiting is in milliseconds. */
final class Version {
    private Version() {}

    static ConsumerRecords<String, String> poll(KafkaConsumer<String, String> consumer) {
        return consumer.poll(1000);
    }

    static void sendOffsets(KafkaProducer<String, String> producer, Map<TopicPartition, OffsetAndMetadata> offsets,
            KafkaConsumer<String, String> consumer, String group) {
        producer.sendOffsetsToTransaction(offsets, group);
    }
}
