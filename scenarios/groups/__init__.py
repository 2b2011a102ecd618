"""The exact output of `kafka-consumer-groups` (`tools/consumer/group/ConsumerGroupCommand`)."""
