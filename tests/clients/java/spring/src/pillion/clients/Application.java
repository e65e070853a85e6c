package pillion.clients;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.utils.AppInfoParser;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootVersion;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.kafka.config.TopicBuilder;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaOperations;
import org.springframework.kafka.core.KafkaTemplate;

/**
 * A Spring Boot application with spring-kafka's template, listeners and transactions, driven from the command line by check.py;
 * records.py describes the commands. Each becomes properties as a user would write them in application.properties; listeners
 * are in {@link Reader} and {@link Copier}.
 */
@SpringBootApplication
public class Application {
    public static void main(String[] arguments) throws Exception {
        switch (arguments[0]) {
            case "version" -> System.out.println("spring-kafka " + KafkaTemplate.class.getPackage().getImplementationVersion()
                    + ", Spring Boot " + SpringBootVersion.getVersion() + ", kafka-clients " + AppInfoParser.getVersion());
            case "create" -> {
                try (var context = start(arguments[1], Map.of())) {
                    context.getBean(KafkaAdmin.class).createOrModifyTopics(
                            TopicBuilder.name(arguments[2]).partitions(Integer.parseInt(arguments[3])).replicas(1).build());
                }
            }
            case "produce" -> {
                try (var context = start(arguments[1], Map.of())) {
                    send(template(context), Records.of(arguments[2], arguments[3], Integer.parseInt(arguments[4]),
                            Integer.parseInt(arguments[5])));
                }
            }
            case "consume" -> start(arguments[1], Map.of(
                    "client.reads", arguments[2],
                    "spring.kafka.consumer.group-id", arguments[3],
                    "spring.kafka.listener.ack-mode", "manual_immediate")); // goes on until SIGTERM
            case "transact" -> transact(arguments[1], arguments[2], arguments[3], Integer.parseInt(arguments[4]),
                    Integer.parseInt(arguments[5]), arguments[6].split(","));
            case "copy" -> {
                try (var context = start(arguments[1], Map.of(
                        "client.copies", arguments[2],
                        "client.target", arguments[3],
                        "spring.kafka.consumer.group-id", arguments[4],
                        "spring.kafka.producer.transaction-id-prefix", arguments[5],
                        "client.count", arguments[6],
                        "client.end", arguments[7]))) {
                    context.getBean(Copier.class).done.await();
                }
            }
            default -> throw new IllegalArgumentException("no such command: " + arguments[0]);
        }
    }

    private static ConfigurableApplicationContext start(String bootstrap, Map<String, Object> properties) {
        Map<String, Object> all = new HashMap<>(properties);
        all.put("spring.kafka.bootstrap-servers", bootstrap);
        all.put("spring.kafka.producer.compression-type", "zstd");
        all.put("spring.kafka.consumer.isolation-level", "read_committed");
        all.put("spring.kafka.consumer.auto-offset-reset", "earliest");
        all.put("spring.kafka.consumer.heartbeat-interval", "1s");
        all.put("spring.kafka.listener.type", "batch");
        var application = new SpringApplication(Application.class);
        application.setBannerMode(Banner.Mode.OFF);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.setDefaultProperties(all);
        return application.run();
    }

    @SuppressWarnings("unchecked")
    private static KafkaTemplate<String, String> template(ConfigurableApplicationContext context) {
        return context.getBean(KafkaTemplate.class);
    }

    /** Returns when all is acknowledged. */
    private static void send(KafkaOperations<String, String> template, List<ProducerRecord<String, String>> records) {
        var sent = new ArrayList<java.util.concurrent.CompletableFuture<?>>();
        records.forEach(record -> sent.add(template.send(record)));
        template.flush();
        sent.forEach(java.util.concurrent.CompletableFuture::join);
    }

    private static void transact(String bootstrap, String topic, String name, int first, int count, String[] ends) {
        try (var context = start(bootstrap, Map.of("spring.kafka.producer.transaction-id-prefix", name))) {
            for (int index = 0; index < ends.length; index++) {
                var records = Records.of(topic, name, first + index * count, count);
                boolean commits = ends[index].equals("commit");
                try {
                    template(context).executeInTransaction(template -> {
                        send(template, records);
                        if (!commits) {
                            throw new Aborted();
                        }
                        return null;
                    });
                } catch (Aborted asIntended) {
                    // Its records are not for readers.
                }
            }
        }
    }

    /** What makes a transaction abort here. */
    static final class Aborted extends RuntimeException {}
}
