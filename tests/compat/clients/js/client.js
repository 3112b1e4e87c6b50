/*
 * kafkajs behind the contract of ../contract.py: client.js BOOTSTRAP ACTION ARGUMENTS, with JSON lines on stdout.
 * kafkajs brings gzip; snappy, lz4 and zstd come from the packages beside it in package.json. It reads only as a
 * member of a group, so consuming by assignment is a group of its own that seeks to the start of each partition.
 */

const zstd = require("@mongodb-js/zstd");
const { CompressionCodecs, CompressionTypes, ConfigResourceTypes, Kafka, logLevel } = require("kafkajs");
const SnappyCodec = require("kafkajs-snappy");
const lz4 = require("lz4-napi");

const TIMEOUT_MS = 30000;
const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  lz4: CompressionTypes.LZ4,
  zstd: CompressionTypes.ZSTD,
};

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec;
CompressionCodecs[CompressionTypes.LZ4] = () => ({
  compress: (encoder) => lz4.compressFrame(encoder.buffer),
  decompress: (buffer) => lz4.decompressFrame(buffer),
});
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: (encoder) => zstd.compress(encoder.buffer),
  decompress: (buffer) => zstd.decompress(buffer),
});

function emit(line) {
  process.stdout.write(JSON.stringify(line) + "\n");
}

function text(data) {
  return data === null || data === undefined ? null : data.toString();
}

async function withAdmin(kafka, work) {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

async function create(kafka, { topic, partitions, configs }) {
  const configEntries = Object.entries(configs).map(([name, value]) => ({ name, value }));
  const topics = [{ topic, numPartitions: partitions, replicationFactor: 1, configEntries }];
  await withAdmin(kafka, (admin) => admin.createTopics({ topics }));
  emit({ topic });
}

async function produce(kafka, { topic, partition, codec, headers, records }) {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  const messages = records.map(([key, value]) => ({ key, value, partition, headers: Object.fromEntries(headers) }));
  const answer = await producer.send({ topic, acks: -1, compression: CODECS[codec], messages });
  await producer.disconnect();
  // The records of one send are one batch: the answer names its first offset.
  const first = Number(answer[0].baseOffset);
  records.forEach((_, index) => emit({ partition: answer[0].partition, offset: first + index }));
}

async function consume(kafka, group, topic, count, { seek = [], commit = false }) {
  const consumer = kafka.consumer({ groupId: group });
  await consumer.connect();
  await consumer.subscribe({ topics: [topic], fromBeginning: true });
  let seen = 0;
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no record within ${TIMEOUT_MS} ms`)), TIMEOUT_MS).unref();
    consumer.on(consumer.events.CRASH, (event) => reject(event.payload.error));
    const eachMessage = async ({ partition, message }) => {
      if (seen >= count) return;
      seen += 1;
      const headers = Object.entries(message.headers).map(([name, value]) => [name, text(value)]);
      const offset = Number(message.offset);
      emit({ partition, offset, key: text(message.key), value: text(message.value), headers });
      if (commit) await consumer.commitOffsets([{ topic, partition, offset: String(offset + 1) }]);
      if (seen === count) resolve();
    };
    consumer.run({ autoCommit: false, eachMessage }).catch(reject);
    seek.forEach((partition) => consumer.seek({ topic, partition, offset: "0" }));
  });
  await consumer.disconnect();
}

async function consumeAssign(kafka, { topic, partitions }) {
  const offsets = await withAdmin(kafka, (admin) => admin.fetchTopicOffsets(topic));
  const chosen = offsets.filter((each) => partitions.includes(each.partition));
  const count = chosen.reduce((sum, each) => sum + Number(each.high) - Number(each.low), 0);
  await consume(kafka, `reader-of-${topic}-${process.pid}`, topic, count, { seek: partitions });
}

async function consumeGroup(kafka, { group, topic, count }) {
  await consume(kafka, group, topic, count, { commit: true });
}

async function describe(kafka, { topic }) {
  const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }];
  await withAdmin(kafka, async (admin) => {
    const metadata = await admin.fetchTopicMetadata({ topics: [topic] });
    const partitions = metadata.topics[0].partitions.map((each) => each.partitionId).sort((a, b) => a - b);
    const described = await admin.describeConfigs({ resources, includeSynonyms: false });
    const entries = described.resources[0].configEntries;
    emit({ partitions, configs: Object.fromEntries(entries.map((each) => [each.configName, each.configValue])) });
  });
}

const ACTIONS = { create, produce, consume_assign: consumeAssign, consume_group: consumeGroup, describe };

const [bootstrap, action, argumentsJson] = process.argv.slice(2);
const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR });
ACTIONS[action](kafka, JSON.parse(argumentsJson)).catch((error) => {
  console.error(error);
  process.exit(1);
});
