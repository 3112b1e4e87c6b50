/*
 * A source connector for exactly-once: it writes the numbers from 0 to `count` to `topic`, in batches of ten, and keeps
 * in its source offsets which is next. Without its worker's transactions a kill would repeat numbers or leave some out.
 */

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.ExactlyOnceSupport;
import org.apache.kafka.connect.source.SourceConnector;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.source.SourceTask;

public class NumbersConnector extends SourceConnector {
    static final Map<String, String> PARTITION = Map.of("source", "numbers");
    static final int BATCH = 10;
    static final long PAUSE_MS = 10;

    private Map<String, String> settings;

    @Override
    public void start(Map<String, String> given) {
        settings = given;
    }

    @Override
    public Class<? extends Task> taskClass() {
        return NumbersTask.class;
    }

    @Override
    public List<Map<String, String>> taskConfigs(int most) {
        return List.of(settings);
    }

    @Override
    public void stop() {
    }

    @Override
    public ConfigDef config() {
        return new ConfigDef()
            .define("topic", ConfigDef.Type.STRING, ConfigDef.Importance.HIGH, "where the numbers go")
            .define("count", ConfigDef.Type.INT, ConfigDef.Importance.HIGH, "how many there are");
    }

    @Override
    public String version() {
        return "1";
    }

    @Override
    public ExactlyOnceSupport exactlyOnceSupport(Map<String, String> given) {
        return ExactlyOnceSupport.SUPPORTED;
    }

    public static class NumbersTask extends SourceTask {
        private String topic;
        private long count;
        private long next;

        @Override
        public void start(Map<String, String> settings) {
            topic = settings.get("topic");
            count = Long.parseLong(settings.get("count"));
            Map<String, Object> kept = context.offsetStorageReader().offset(PARTITION);
            next = kept == null ? 0 : (Long) kept.get("next");
        }

        @Override
        public List<SourceRecord> poll() throws InterruptedException {
            Thread.sleep(PAUSE_MS);
            List<SourceRecord> records = new ArrayList<>();
            for (; records.size() < BATCH && next < count; next++) {
                Map<String, Long> offset = Map.of("next", next + 1);
                records.add(new SourceRecord(PARTITION, offset, topic, 0, Schema.STRING_SCHEMA, String.valueOf(next)));
            }
            return records.isEmpty() ? null : records;
        }

        @Override
        public void stop() {
        }

        @Override
        public String version() {
            return "1";
        }
    }
}
