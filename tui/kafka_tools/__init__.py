"""The commands that print the output of Kafka's own tools, `isrlab describe`, `reassign`, `leader-election`, `transactions`, and `groups`, and `import` and `watch`."""
