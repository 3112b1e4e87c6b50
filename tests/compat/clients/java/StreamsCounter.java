/*
 * Kafka Streams with exactly_once_v2: StreamsCounter BOOTSTRAP INPUT OUTPUT APPLICATION STATE_DIRECTORY. Counts the
 * records of each value over a repartition topic and a store, and writes every count as it is reached. It may be killed
 * at any moment; SIGTERM closes it.
 */

import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Produced;

public class StreamsCounter {
    public static void main(String[] command) throws InterruptedException {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream(command[1])
            .groupBy((key, value) -> value)
            .count()
            .toStream()
            .to(command[2], Produced.with(Serdes.String(), Serdes.Long()));
        KafkaStreams streams = new KafkaStreams(builder.build(), settings(command));
        streams.setUncaughtExceptionHandler(thrown -> {
            thrown.printStackTrace();
            return StreamThreadExceptionResponse.REPLACE_THREAD;
        });
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        new CountDownLatch(1).await();
    }

    static Properties settings(String[] command) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", command[0]);
        settings.put("application.id", command[3]);
        settings.put("state.dir", command[4]);
        settings.put("processing.guarantee", "exactly_once_v2");
        settings.put("default.key.serde", Serdes.String().getClass());
        settings.put("default.value.serde", Serdes.String().getClass());
        settings.put("commit.interval.ms", "100");
        settings.put("statestore.cache.max.bytes", "0");
        settings.put("replication.factor", "1");
        settings.put("auto.offset.reset", "earliest");
        settings.put("session.timeout.ms", "6000");
        settings.put("heartbeat.interval.ms", "1000");
        settings.put("max.poll.records", "50");
        settings.put("reconnect.backoff.max.ms", "200");
        return settings;
    }
}
