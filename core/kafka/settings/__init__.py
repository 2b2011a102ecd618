"""The settings that the laboratory models. Each setting has Kafka's name, a type, a default, a scope, and the releases that have it."""
