"""The selective fan-out: many small consumers, each of whom wants a fraction of a stream."""
