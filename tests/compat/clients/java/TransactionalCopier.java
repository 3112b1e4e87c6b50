/*
 * The copier of tests/crash/copier.py over Kafka's own Java client: TransactionalCopier BOOTSTRAP INPUT OUTPUT GROUP
 * INSTANCE. Consume, transform, produce, commit the offsets, in transactions, some of which it aborts on purpose when
 * all is sent. It may be killed at any moment; what it cannot get over ends it, and it is started again.
 */

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class TransactionalCopier {
    static final double DOOMED = 0.15;

    final String source;
    final String target;
    final Random random = new Random();
    final KafkaConsumer<byte[], byte[]> consumer;
    final KafkaProducer<byte[], byte[]> producer;

    public static void main(String[] command) {
        TransactionalCopier copier = new TransactionalCopier(command);
        while (true) {
            copier.step();
        }
    }

    TransactionalCopier(String[] command) {
        source = command[1];
        target = command[2];
        consumer = new KafkaConsumer<>(consumerSettings(command), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        producer = new KafkaProducer<>(producerSettings(command), new ByteArraySerializer(), new ByteArraySerializer());
        persist(producer::initTransactions);
        consumer.subscribe(List.of(source));
    }

    static Properties common(String[] command) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command[0]);
        settings.put("reconnect.backoff.ms", "20");
        settings.put("reconnect.backoff.max.ms", "100");
        settings.put("retry.backoff.ms", "20");
        settings.put("retry.backoff.max.ms", "100");
        return settings;
    }

    static Properties consumerSettings(String[] command) {
        Properties settings = common(command);
        settings.put("group.id", command[3]);
        settings.put("group.instance.id", command[4]);
        settings.put("group.protocol", "classic");
        settings.put("isolation.level", "read_committed");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("max.poll.records", "20");
        settings.put("fetch.max.wait.ms", "50");
        return settings;
    }

    static Properties producerSettings(String[] command) {
        Properties settings = common(command);
        settings.put("transactional.id", command[3] + "-" + command[4]);
        settings.put("transaction.timeout.ms", "10000");
        settings.put("delivery.timeout.ms", "10000");
        settings.put("request.timeout.ms", "5000");
        settings.put("max.block.ms", "5000");
        settings.put("linger.ms", "1");
        return settings;
    }

    void step() {
        ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(50));
        if (records.isEmpty()) {
            return;
        }
        boolean doomed = random.nextDouble() < DOOMED;
        try {
            send(records, doomed);
            if (!doomed) {
                persist(producer::commitTransaction);
                return;
            }
            producer.flush();
        } catch (ProducerFencedException | InterruptException fatal) {
            throw fatal;
        } catch (KafkaException abortable) {
            System.err.println("aborting: " + abortable);
        }
        persist(producer::abortTransaction);
        rewind();
    }

    void send(ConsumerRecords<byte[], byte[]> records, boolean doomed) {
        producer.beginTransaction();
        Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
        for (ConsumerRecord<byte[], byte[]> record : records) {
            String original = new String(record.value(), StandardCharsets.UTF_8);
            String copy = record.offset() + (doomed ? " doomed " : " kept ") + original;
            byte[] value = copy.getBytes(StandardCharsets.UTF_8);
            producer.send(new ProducerRecord<>(target, record.partition(), null, value));
            ends.put(new TopicPartition(source, record.partition()), new OffsetAndMetadata(record.offset() + 1));
        }
        producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
    }

    /** To where the last committed transaction has left off. */
    void rewind() {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata place = committed.get(partition);
            consumer.seek(partition, place == null ? 0 : place.offset());
        }
    }

    /** A call that timed out may be made again, and nothing else may be done before it has come to an end. */
    static void persist(Runnable call) {
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException later) {
                System.err.println("once more: " + later);
            }
        }
    }
}
