"""CreateTopics requests of administrators and brokers (Kafka: `ReplicationControlManager#createTopics`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from core.kafka import errors, events

if TYPE_CHECKING:
    from core.kafka.controller.topic_registry import TopicRegistry
    from core.kafka.topic_spec import TopicSpec

INVALID_CONFIG: Final = "INVALID_CONFIG"
"""The error code of a request with a wrong setting."""


def create_topic(replication: TopicRegistry, spec: TopicSpec, *, automatic: bool = False) -> str:
    """Create a topic. If Kafka refuses the topic, emit an event. Return the error code.

    A broker repeats an `automatic` request each time that a client needs the topic. Therefore, only the first of equal refusals emits an
    event, and it is no refusal if another broker has created the topic.
    """
    try:
        replication.create_topic(spec)
    except errors.KafkaError as refusal:
        code, message = refusal.code, refusal.message
    except ValueError as wrong:
        code, message = INVALID_CONFIG, str(wrong)
    else:
        replication.refused_topics.pop(spec.name, None)
        return errors.NONE
    if not automatic or code not in (errors.TOPIC_ALREADY_EXISTS, replication.refused_topics.get(spec.name)):
        replication.journal.emit(events.TopicRefused.kind, spec.name, code, message)
    if automatic:
        replication.refused_topics[spec.name] = code
    return code
