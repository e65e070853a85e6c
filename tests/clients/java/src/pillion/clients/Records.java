package pillion.clients;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Headers;

/** The records that a producer sends, and how a consumer prints them; records.py describes both. */
final class Records {
    private Records() {}

    static List<ProducerRecord<String, String>> of(String topic, String name, int first, int count) {
        List<ProducerRecord<String, String>> records = new ArrayList<>();
        for (int number = first; number < first + count; number++) {
            records.add(record(topic, name, number));
        }
        return records;
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

    static void print(ConsumerRecord<String, String> record) {
        System.out.println(String.join("\t", "record", Integer.toString(record.partition()),
                Long.toString(record.offset()), record.key(), record.value(), text(record.headers())));
    }

    private static String text(Headers headers) {
        return StreamSupport.stream(headers.spliterator(), false)
                .map(header -> header.key() + "=" + new String(header.value()))
                .collect(Collectors.joining(","));
    }
}
