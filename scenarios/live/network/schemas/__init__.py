"""The fields of messages that the client library does not have, in the notation of Kafka's protocol."""
