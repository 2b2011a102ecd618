"""The settings that the laboratory models, by their names in Kafka, each with its type, default, scope, and releases."""
