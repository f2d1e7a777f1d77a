"""The brokers that acceptance runs and benchmarks go over, each behind the same few words."""
