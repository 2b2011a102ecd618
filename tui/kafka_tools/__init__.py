"""The commands that print what Kafka's own tools print: `isrlab describe`, `reassign`, `leader-election`, `transactions`, `groups`."""
