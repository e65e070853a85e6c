package pillion.clients;

import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.listener.ConsumerAwareRebalanceListener;
import org.springframework.kafka.support.Acknowledgment;
import org.springframework.stereotype.Component;

/** Prints what it is assigned and what it reads, and commits each batch. */
@Component
@ConditionalOnProperty("client.reads")
class Reader implements ConsumerAwareRebalanceListener {
    @KafkaListener(topics = "${client.reads}")
    void read(List<ConsumerRecord<String, String>> records, Acknowledgment acknowledgment) {
        records.forEach(Records::print);
        acknowledgment.acknowledge();
        records.forEach(record -> System.out.println("committed\t" + record.partition() + "\t" + record.offset()));
    }

    @Override
    public void onPartitionsAssigned(Consumer<?, ?> consumer, Collection<TopicPartition> partitions) {
        System.out.println("assigned\t" + partitions.stream()
                .map(each -> Integer.toString(each.partition()))
                .collect(Collectors.joining(",")));
    }
}
