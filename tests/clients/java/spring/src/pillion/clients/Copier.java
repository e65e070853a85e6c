package pillion.clients;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.AfterRollbackProcessor;
import org.springframework.stereotype.Component;

/** Sends on what it reads, in the transaction that its container began and that carries the group's offsets. */
@Component
@ConditionalOnProperty("client.copies")
class Copier {
    final CountDownLatch done = new CountDownLatch(1);
    private final KafkaTemplate<String, String> template;
    private final String target;
    private final boolean commits;
    private int left;

    Copier(KafkaTemplate<String, String> template, @Value("${client.target}") String target,
            @Value("${client.end}") String end, @Value("${client.count}") int count) {
        this.template = template;
        this.target = target;
        this.commits = end.equals("commit");
        this.left = count;
    }

    @KafkaListener(topics = "${client.copies}")
    void copy(List<ConsumerRecord<String, String>> records) {
        for (var record : records) {
            template.send(new ProducerRecord<>(target, null, record.key(), record.value(), record.headers()));
        }
        template.flush();
        if (!commits) {
            throw new Application.Aborted();
        }
        left -= records.size();
        if (left <= 0) {
            done.countDown(); // the context closes after the container has committed
        }
    }

    /** Ends after the first rollback instead of trying again. */
    @Bean
    static AfterRollbackProcessor<Object, Object> afterRollback(org.springframework.beans.factory.ObjectProvider<Copier> copier) {
        return (records, consumer, container, exception, recoverable, mode) -> copier.getObject().done.countDown();
    }
}
