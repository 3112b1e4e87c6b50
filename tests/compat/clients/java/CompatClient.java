/*
 * Kafka's own Java client behind the contract of ../contract.py: CompatClient BOOTSTRAP ACTION ARGUMENTS, with
 * JSON lines on stdout. One file, compiled by tools.py against the jars of pom.xml. A group member stamps its
 * events with System.nanoTime(), which is CLOCK_MONOTONIC on Linux, the clock of the Python members too.
 */

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class CompatClient {
    static final ObjectMapper JSON = new ObjectMapper();
    static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    static final Duration TIMEOUT = Duration.ofSeconds(30);
    static final Map<String, String> ASSIGNORS = Map.of(
        "range", RangeAssignor.class.getName(),
        "roundrobin", RoundRobinAssignor.class.getName(),
        "cooperative-sticky", CooperativeStickyAssignor.class.getName());

    public static void main(String[] command) throws Exception {
        // Stdout is for the contract's lines alone; the client's log goes there by default.
        System.setOut(System.err);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command[0]);
        JsonNode arguments = JSON.readTree(command[2]);
        switch (command[1]) {
            case "create" -> create(settings, arguments);
            case "produce" -> produce(settings, arguments);
            case "consume_assign" -> consumeAssign(settings, arguments);
            case "consume_group" -> consumeGroup(settings, arguments);
            case "describe" -> describe(settings, arguments);
            case "member" -> new Member(settings, arguments).run();
            default -> throw new IllegalArgumentException(command[1]);
        }
    }

    static void create(Properties settings, JsonNode arguments) throws Exception {
        String name = arguments.get("topic").asText();
        Map<String, String> configs = new HashMap<>();
        arguments.get("configs").properties().forEach(each -> configs.put(each.getKey(), each.getValue().asText()));
        NewTopic topic = new NewTopic(name, arguments.get("partitions").asInt(), (short) 1).configs(configs);
        try (Admin admin = Admin.create(settings)) {
            admin.createTopics(List.of(topic)).all().get();
        }
        emit(JSON.createObjectNode().put("topic", name));
    }

    static void produce(Properties settings, JsonNode arguments) throws Exception {
        settings.put("compression.type", arguments.get("codec").asText());
        settings.put("linger.ms", "50");
        String topic = arguments.get("topic").asText();
        int partition = arguments.get("partition").asInt();
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<String, String> producer =
                new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (JsonNode each : arguments.get("records")) {
                String key = each.get(0).isNull() ? null : each.get(0).asText();
                String value = each.get(1).isNull() ? null : each.get(1).asText();
                ProducerRecord<String, String> record = new ProducerRecord<>(topic, partition, key, value);
                for (JsonNode header : arguments.get("headers")) {
                    byte[] content = header.get(1).asText().getBytes(StandardCharsets.UTF_8);
                    record.headers().add(header.get(0).asText(), content);
                }
                sent.add(producer.send(record));
            }
            producer.flush();
        }
        for (Future<RecordMetadata> each : sent) {
            RecordMetadata metadata = each.get();
            emit(JSON.createObjectNode().put("partition", metadata.partition()).put("offset", metadata.offset()));
        }
    }

    static void consumeAssign(Properties settings, JsonNode arguments) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (JsonNode number : arguments.get("partitions")) {
            partitions.add(new TopicPartition(arguments.get("topic").asText(), number.asInt()));
        }
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            while (partitions.stream().anyMatch(each -> consumer.position(each) < ends.get(each))) {
                for (ConsumerRecord<String, String> record : polled(consumer)) {
                    emit(line(record));
                }
            }
        }
    }

    static void consumeGroup(Properties settings, JsonNode arguments) {
        settings.put("group.id", arguments.get("group").asText());
        settings.put("max.poll.records", "1");
        try (KafkaConsumer<String, String> consumer = consumer(settings)) {
            consumer.subscribe(List.of(arguments.get("topic").asText()));
            for (int count = 0; count < arguments.get("count").asInt(); count++) {
                emit(line(polled(consumer).iterator().next()));
                consumer.commitSync();
            }
        }
    }

    static void describe(Properties settings, JsonNode arguments) throws Exception {
        String name = arguments.get("topic").asText();
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, name);
        ObjectNode answer = JSON.createObjectNode();
        try (Admin admin = Admin.create(settings)) {
            TopicDescription topic = admin.describeTopics(List.of(name)).allTopicNames().get().get(name);
            ArrayNode partitions = answer.putArray("partitions");
            topic.partitions().forEach(each -> partitions.add(each.partition()));
            Config config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            ObjectNode configs = answer.putObject("configs");
            config.entries().forEach(each -> configs.put(each.name(), each.value()));
        }
        emit(answer);
    }

    static KafkaConsumer<String, String> consumer(Properties settings) {
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("group.protocol", "classic");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    static ConsumerRecords<String, String> polled(KafkaConsumer<String, String> consumer) {
        long deadline = System.nanoTime() + TIMEOUT.toNanos();
        while (System.nanoTime() < deadline) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofSeconds(1));
            if (!records.isEmpty()) {
                return records;
            }
        }
        throw new KafkaException("no record within " + TIMEOUT);
    }

    static ObjectNode line(ConsumerRecord<String, String> record) {
        ObjectNode line = JSON.createObjectNode();
        line.put("partition", record.partition()).put("offset", record.offset());
        line.put("key", record.key()).put("value", record.value());
        ArrayNode headers = line.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(new String(header.value(), StandardCharsets.UTF_8));
        }
        return line;
    }

    static synchronized void emit(JsonNode line) {
        OUT.println(line);
    }

    /** Consumes, says and commits until SIGTERM; what it says of its partitions is what the group test judges. */
    static class Member implements ConsumerRebalanceListener {
        final KafkaConsumer<String, String> consumer;
        final String topic;
        volatile boolean stopping;

        Member(Properties settings, JsonNode arguments) {
            settings.put("group.id", arguments.get("group").asText());
            settings.put("partition.assignment.strategy", ASSIGNORS.get(arguments.get("assignor").asText()));
            settings.put("session.timeout.ms", arguments.get("session_ms").asText());
            settings.put("heartbeat.interval.ms", "500");
            if (!arguments.get("instance_id").isNull()) {
                settings.put("group.instance.id", arguments.get("instance_id").asText());
            }
            topic = arguments.get("topic").asText();
            consumer = consumer(settings);
        }

        void run() {
            Thread main = Thread.currentThread();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                stopping = true;
                consumer.wakeup();
                join(main);
            }));
            consumer.subscribe(List.of(topic), this);
            try {
                while (!stopping) {
                    work(consumer.poll(Duration.ofMillis(200)));
                }
            } catch (WakeupException stop) {
                // Only the shutdown hook wakes the consumer up.
            }
            consumer.close();
            emit(event("closed"));
        }

        void work(ConsumerRecords<String, String> records) {
            Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
            for (TopicPartition partition : records.partitions()) {
                ObjectNode said = event("records").put("generation", consumer.groupMetadata().generationId());
                said.put("partition", partition.partition());
                ArrayNode offsets = said.putArray("offsets");
                records.records(partition).forEach(record -> offsets.add(record.offset()));
                emit(said);
                long last = offsets.get(offsets.size() - 1).asLong();
                positions.put(partition, new OffsetAndMetadata(last + 1));
            }
            if (!positions.isEmpty()) {
                commit(positions);
            }
        }

        void commit(Map<TopicPartition, OffsetAndMetadata> positions) {
            try {
                consumer.commitSync(positions);
            } catch (WakeupException stop) {
                throw stop;
            } catch (KafkaException error) {
                emit(event("commit_failed").put("error", error.toString()));
                return;
            }
            ObjectNode said = event("commit");
            ObjectNode offsets = said.putObject("offsets");
            positions.forEach((partition, at) -> offsets.put(String.valueOf(partition.partition()), at.offset()));
            emit(said);
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            changed("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            changed("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            changed("lost", partitions);
        }

        void changed(String name, Collection<TopicPartition> partitions) {
            ObjectNode said = event(name).put("generation", consumer.groupMetadata().generationId());
            ArrayNode numbers = said.putArray("partitions");
            partitions.forEach(each -> numbers.add(each.partition()));
            emit(said);
        }

        static ObjectNode event(String name) {
            return JSON.createObjectNode().put("event", name).put("at", System.nanoTime());
        }

        static void join(Thread thread) {
            try {
                thread.join();
            } catch (InterruptedException interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
