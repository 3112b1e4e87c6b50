/*
 * Transactions of Kafka's own Java client against the clock: TransactionalLoad BOOTSTRAP TOPIC COUNT UNMEASURED RECORDS
 * SIZE. Commits UNMEASURED transactions of RECORDS records of SIZE bytes each, then COUNT of them, one after the other,
 * and prints how many seconds the COUNT took. For benchmarks/figures/transactions.py.
 */

import java.io.PrintStream;
import java.util.Properties;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

public class TransactionalLoad {
    public static void main(String[] command) {
        PrintStream out = System.out;
        // Stdout is for the answer alone; the client's log goes there by default.
        System.setOut(System.err);
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command[0]);
        settings.put("transactional.id", command[1] + "-java");
        byte[] value = new byte[Integer.parseInt(command[5])];
        new Random().nextBytes(value);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            int records = Integer.parseInt(command[4]);
            commit(producer, command[1], Integer.parseInt(command[3]), records, value);
            long start = System.nanoTime();
            commit(producer, command[1], Integer.parseInt(command[2]), records, value);
            out.println((System.nanoTime() - start) / 1e9);
        }
    }

    static void commit(KafkaProducer<byte[], byte[]> producer, String topic, int count, int records, byte[] value) {
        for (int number = 0; number < count; number++) {
            producer.beginTransaction();
            for (int each = 0; each < records; each++) {
                producer.send(new ProducerRecord<>(topic, value));
            }
            producer.commitTransaction();
        }
    }
}
