// franz-go behind the contract of ../contract.py: compatclient BOOTSTRAP ACTION ARGUMENTS, with JSON lines on
// stdout. Built by tools.py. It takes no part in the group test, so it has no `member`.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const timeout = 30 * time.Second

type arguments struct {
	Topic      string             `json:"topic"`
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
}

type description struct {
	Partitions []int32           `json:"partitions"`
	Configs    map[string]string `json:"configs"`
}

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

var actions = map[string]func(context.Context, kgo.Opt, arguments) error{
	"create":         create,
	"produce":        produce,
	"consume_assign": consumeAssign,
	"consume_group":  consumeGroup,
	"describe":       describe,
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	var args arguments
	if err := json.Unmarshal([]byte(os.Args[3]), &args); err != nil {
		fail(err)
	}
	if err := actions[os.Args[2]](ctx, kgo.SeedBrokers(os.Args[1]), args); err != nil {
		fail(err)
	}
}

func create(ctx context.Context, seeds kgo.Opt, args arguments) error {
	var partitions int32
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	admin, err := kadm.NewOptClient(seeds)
	if err != nil {
		return err
	}
	defer admin.Close()
	if _, err = admin.CreateTopic(ctx, partitions, 1, args.Configs, args.Topic); err != nil {
		return err
	}
	return emit(map[string]string{"topic": args.Topic})
}

func produce(ctx context.Context, seeds kgo.Opt, args arguments) error {
	client, err := kgo.NewClient(
		seeds,
		kgo.ProducerBatchCompression(codecs[args.Codec]),
		kgo.ProducerLinger(50*time.Millisecond),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	var records []*kgo.Record
	for _, pair := range args.Records {
		sent := &kgo.Record{Topic: args.Topic, Partition: args.Partition, Key: data(pair[0]), Value: data(pair[1])}
		for _, header := range args.Headers {
			sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: header[0], Value: []byte(header[1])})
		}
		records = append(records, sent)
	}
	results := client.ProduceSync(ctx, records...)
	if err := results.FirstErr(); err != nil {
		return err
	}
	for _, sent := range records {
		if err := emit(produced{sent.Partition, sent.Offset}); err != nil {
			return err
		}
	}
	return nil
}

func consumeAssign(ctx context.Context, seeds kgo.Opt, args arguments) error {
	var partitions []int32
	if err := json.Unmarshal(args.Partitions, &partitions); err != nil {
		return err
	}
	starts := make(map[int32]kgo.Offset)
	for _, partition := range partitions {
		starts[partition] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(seeds, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{args.Topic: starts}))
	if err != nil {
		return err
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, args.Topic)
	if err != nil {
		return err
	}
	var total int64
	for _, partition := range partitions {
		end, _ := ends.Lookup(args.Topic, partition)
		total += end.Offset
	}
	for seen := int64(0); seen < total; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, each := range fetches.Records() {
			seen++
			if err := emit(line(each)); err != nil {
				return err
			}
		}
	}
	return nil
}

func consumeGroup(ctx context.Context, seeds kgo.Opt, args arguments) error {
	client, err := kgo.NewClient(
		seeds,
		kgo.ConsumerGroup(args.Group),
		kgo.ConsumeTopics(args.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for seen := 0; seen < args.Count; {
		fetches := client.PollRecords(ctx, args.Count-seen)
		if err := fetches.Err(); err != nil {
			return err
		}
		for _, each := range fetches.Records() {
			seen++
			if err := emit(line(each)); err != nil {
				return err
			}
		}
		if err := client.CommitRecords(ctx, fetches.Records()...); err != nil {
			return err
		}
	}
	return nil
}

func describe(ctx context.Context, seeds kgo.Opt, args arguments) error {
	admin, err := kadm.NewOptClient(seeds)
	if err != nil {
		return err
	}
	defer admin.Close()
	topics, err := admin.ListTopics(ctx, args.Topic)
	if err != nil {
		return err
	}
	resources, err := admin.DescribeTopicConfigs(ctx, args.Topic)
	if err != nil {
		return err
	}
	answer := description{Configs: make(map[string]string)}
	for partition := range topics[args.Topic].Partitions {
		answer.Partitions = append(answer.Partitions, partition)
	}
	slices.Sort(answer.Partitions)
	for _, config := range resources[0].Configs {
		answer.Configs[config.Key] = config.MaybeValue()
	}
	return emit(answer)
}

func line(each *kgo.Record) record {
	headers := make([][2]string, 0, len(each.Headers))
	for _, header := range each.Headers {
		headers = append(headers, [2]string{header.Key, string(header.Value)})
	}
	return record{each.Partition, each.Offset, text(each.Key), text(each.Value), headers}
}

func data(content *string) []byte {
	if content == nil {
		return nil
	}
	return []byte(*content)
}

func text(content []byte) *string {
	if content == nil {
		return nil
	}
	converted := string(content)
	return &converted
}

func emit(line any) error {
	return json.NewEncoder(os.Stdout).Encode(line)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
