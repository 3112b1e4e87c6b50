// Sarama behind the contract of ../contract.py: saramaclient BOOTSTRAP ACTION ARGUMENTS, with JSON lines on stdout.
// Beside the common actions: `idempotent` (topic, count: over all partitions), `rebalance` (topic, group, count: two
// members, the first of which leaves half-way) and `transactions` (topic, target, group, count: a copy in transactions
// of ten, every second of which is aborted and made again).
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

const (
	timeout         = 50 * time.Second
	transactionSize = 10
)

type arguments struct {
	Topic      string             `json:"topic"`
	Target     string             `json:"target"`
	Partitions json.RawMessage    `json:"partitions"`
	Configs    map[string]*string `json:"configs"`
	Partition  int32              `json:"partition"`
	Codec      string             `json:"codec"`
	Headers    [][2]string        `json:"headers"`
	Records    [][2]*string       `json:"records"`
	Group      string             `json:"group"`
	Count      int                `json:"count"`
}

type produced struct {
	Partition int32 `json:"partition"`
	Offset    int64 `json:"offset"`
}

type record struct {
	Partition int32       `json:"partition"`
	Offset    int64       `json:"offset"`
	Key       *string     `json:"key"`
	Value     *string     `json:"value"`
	Headers   [][2]string `json:"headers"`
	Member    string      `json:"member,omitempty"`
}

type description struct {
	Partitions []int32           `json:"partitions"`
	Configs    map[string]string `json:"configs"`
}

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var actions = map[string]func(context.Context, []string, arguments) error{
	"create":         create,
	"produce":        produce,
	"consume_assign": consumeAssign,
	"consume_group":  consumeGroup,
	"describe":       describe,
	"idempotent":     idempotent,
	"rebalance":      rebalance,
	"transactions":   transactions,
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var args arguments
	if err := json.Unmarshal([]byte(os.Args[3]), &args); err != nil {
		fail(err)
	}
	if err := actions[os.Args[2]](ctx, []string{os.Args[1]}, args); err != nil {
		fail(err)
	}
}

func settings() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	return config
}

func idempotentSettings() *sarama.Config {
	config := settings()
	config.Producer.Idempotent = true
	config.Net.MaxOpenRequests = 1
	return config
}

func create(_ context.Context, seeds []string, args arguments) error {
	var partitions int32
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	admin, err := sarama.NewClusterAdmin(seeds, settings())
	if err != nil {
		return err
	}
	defer admin.Close()
	detail := sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: 1, ConfigEntries: args.Configs}
	if err := admin.CreateTopic(args.Topic, &detail, false); err != nil {
		return err
	}
	return emit(map[string]string{"topic": args.Topic})
}

func produce(_ context.Context, seeds []string, args arguments) error {
	config := settings()
	config.Producer.Compression = codecs[args.Codec]
	producer, err := sarama.NewSyncProducer(seeds, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for _, pair := range args.Records {
		sent := &sarama.ProducerMessage{Topic: args.Topic, Partition: args.Partition}
		sent.Key, sent.Value = encoder(pair[0]), encoder(pair[1])
		for _, header := range args.Headers {
			sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(header[0]), Value: []byte(header[1])})
		}
		messages = append(messages, sent)
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	return emitProduced(messages)
}

func idempotent(_ context.Context, seeds []string, args arguments) error {
	client, err := sarama.NewClient(seeds, idempotentSettings())
	if err != nil {
		return err
	}
	defer client.Close()
	partitions, err := client.Partitions(args.Topic)
	if err != nil {
		return err
	}
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		return err
	}
	defer producer.Close()
	var messages []*sarama.ProducerMessage
	for number := range args.Count {
		value := sarama.StringEncoder(fmt.Sprint(number))
		partition := partitions[number%len(partitions)]
		messages = append(messages, &sarama.ProducerMessage{Topic: args.Topic, Partition: partition, Value: value})
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	return emitProduced(messages)
}

func consumeAssign(ctx context.Context, seeds []string, args arguments) error {
	var partitions []int32
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	client, err := sarama.NewClient(seeds, settings())
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	defer consumer.Close()
	for _, partition := range partitions {
		end, err := client.GetOffset(args.Topic, partition, sarama.OffsetNewest)
		if err != nil {
			return err
		}
		if err := readTo(ctx, consumer, args.Topic, partition, end); err != nil {
			return err
		}
	}
	return nil
}

func readTo(ctx context.Context, consumer sarama.Consumer, topic string, partition int32, end int64) error {
	if end == 0 {
		return nil
	}
	reader, err := consumer.ConsumePartition(topic, partition, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		select {
		case message := <-reader.Messages():
			if err := emit(line(message, "")); err != nil {
				return err
			}
			if message.Offset+1 >= end {
				return nil
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A member of a group that hands every record to `take`, and ends its session when that says so.
type member struct {
	name string
	take func(name string, message *sarama.ConsumerMessage) bool
	stop context.CancelFunc
}

func (*member) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*member) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open || session.Context().Err() != nil {
				return nil
			}
			goOn := m.take(m.name, message)
			session.MarkMessage(message, "")
			if !goOn {
				m.stop()
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

// Be a member of the group until it is told to stop, then commit what was taken and leave.
func (m *member) run(ctx context.Context, seeds []string, config *sarama.Config, args arguments) error {
	group, err := sarama.NewConsumerGroup(seeds, args.Group, config)
	if err != nil {
		return err
	}
	defer group.Close()
	own, stop := context.WithCancel(ctx)
	defer stop()
	m.stop = stop
	for own.Err() == nil {
		err := group.Consume(own, []string{args.Topic}, m)
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return ctx.Err()
}

func consumeGroup(ctx context.Context, seeds []string, args arguments) error {
	config := settings()
	config.ChannelBufferSize = 0
	seen := 0
	take := func(_ string, message *sarama.ConsumerMessage) bool {
		if seen < args.Count {
			seen++
			if err := emit(line(message, "")); err != nil {
				fail(err)
			}
		}
		return seen < args.Count
	}
	return (&member{name: "only", take: take}).run(ctx, seeds, config, args)
}

// Two members: the second comes with the first record, the first leaves half-way.
func rebalance(ctx context.Context, seeds []string, args arguments) error {
	var lock sync.Mutex
	total, begun := 0, make(chan struct{})
	config := settings()
	config.ChannelBufferSize = 0
	config.Consumer.Offsets.AutoCommit.Interval = 100 * time.Millisecond
	all, finish := context.WithCancel(ctx)
	defer finish()
	take := func(name string, message *sarama.ConsumerMessage) bool {
		time.Sleep(2 * time.Millisecond)
		lock.Lock()
		defer lock.Unlock()
		if total++; total == 1 {
			close(begun)
		}
		if err := emit(line(message, name)); err != nil {
			fail(err)
		}
		if total == args.Count {
			finish()
		}
		return total < args.Count && !(name == "first" && total > args.Count/2)
	}
	ended := make(chan error, 2)
	go func() { ended <- (&member{name: "first", take: take}).run(all, seeds, config, args) }()
	select {
	case <-begun:
	case err := <-ended:
		return err
	}
	go func() { ended <- (&member{name: "second", take: take}).run(all, seeds, config, args) }()
	for range 2 {
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return nil
}

// Copies a topic's first partition; after an abort the same records are sent once more.
func transactions(_ context.Context, seeds []string, args arguments) error {
	config := idempotentSettings()
	config.Producer.Transaction.ID = args.Group
	producer, err := sarama.NewSyncProducer(seeds, config)
	if err != nil {
		return err
	}
	defer producer.Close()
	for start := 0; start < args.Count; start += transactionSize {
		for _, commit := range []bool{false, true} {
			if err := transact(producer, args, start, commit); err != nil {
				return err
			}
		}
	}
	return nil
}

func transact(producer sarama.SyncProducer, args arguments, start int, commit bool) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	var messages []*sarama.ProducerMessage
	for number := start; number < start+transactionSize; number++ {
		value := sarama.StringEncoder(fmt.Sprintf("%d %t", number, commit))
		messages = append(messages, &sarama.ProducerMessage{Topic: args.Target, Partition: 0, Value: value})
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	offset := &sarama.PartitionOffsetMetadata{Partition: 0, Offset: int64(start + transactionSize), LeaderEpoch: -1}
	offsets := map[string][]*sarama.PartitionOffsetMetadata{args.Topic: {offset}}
	if err := producer.AddOffsetsToTxn(offsets, args.Group); err != nil {
		return err
	}
	if commit {
		return producer.CommitTxn()
	}
	return producer.AbortTxn()
}

func describe(_ context.Context, seeds []string, args arguments) error {
	admin, err := sarama.NewClusterAdmin(seeds, settings())
	if err != nil {
		return err
	}
	defer admin.Close()
	topics, err := admin.DescribeTopics([]string{args.Topic})
	if err != nil {
		return err
	}
	configs, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: args.Topic})
	if err != nil {
		return err
	}
	answer := description{Configs: make(map[string]string)}
	for number := range topics[0].Partitions {
		answer.Partitions = append(answer.Partitions, int32(number))
	}
	for _, config := range configs {
		answer.Configs[config.Name] = config.Value
	}
	return emit(answer)
}

func line(message *sarama.ConsumerMessage, member string) record {
	headers := make([][2]string, 0, len(message.Headers))
	for _, header := range message.Headers {
		headers = append(headers, [2]string{string(header.Key), string(header.Value)})
	}
	return record{message.Partition, message.Offset, text(message.Key), text(message.Value), headers, member}
}

func encoder(content *string) sarama.Encoder {
	if content == nil {
		return nil
	}
	return sarama.StringEncoder(*content)
}

func text(content []byte) *string {
	if content == nil {
		return nil
	}
	converted := string(content)
	return &converted
}

func emitProduced(messages []*sarama.ProducerMessage) error {
	for _, message := range messages {
		if err := emit(produced{message.Partition, message.Offset}); err != nil {
			return err
		}
	}
	return nil
}

func emit(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
