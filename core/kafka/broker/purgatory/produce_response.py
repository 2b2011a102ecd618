"""Responses to produce requests."""

from __future__ import annotations

from core.kafka import errors, events
from core.kafka.broker.context import BrokerContext
from core.kafka.ids import NO_OFFSET
from core.kafka.last_changes import REFUSED
from core.kafka.log.leader_term import Term
from core.kafka.messages import ProduceRequest, ProduceResponse


def send_produce_response(
    broker: BrokerContext, sender: str, request: ProduceRequest, error: str, base: int, term: Term | None, log_start: int = -1
) -> None:
    """Respond to a produce request (`KafkaApis#handleProduceRequest`).

    With acks=0, there is no response. If a request with acks=0 causes an error, the broker closes the connection.
    """
    if request.acks != 0:
        broker.node.reply(sender, ProduceResponse(request.correlation, request.tp, error, base, term, log_start))
    elif error != errors.NONE:
        broker.network.close(broker.node.address, sender, broker.journal.now, broker.journal.cause)


def refuse_produce(
    broker: BrokerContext,
    sender: str,
    request: ProduceRequest,
    error: str,
    isr: tuple[int, ...],
    min_isr: int,
    log_start: int = -1,
    why: tuple[int, ...] = (),
) -> None:
    """Respond with an error. No records were appended. `why` are the events because of which the partition does not accept records, such
    as a smaller ISR or another leader, most important first; 0 is no event. Without any, the request itself is the reason.
    """
    journal, tp = broker.journal, request.tp
    before = journal.cause
    if why:
        journal.blame(tuple(dict.fromkeys(cause for cause in (*why, before) if cause)))
    journal.cause = journal.emit(
        events.AppendRefused.kind, broker.id, tp.topic, tp.partition, request.producer, request.records, error, isr, min_isr
    )
    if request.acks:
        broker.network.disturbances.changed((REFUSED, request.producer, request.batch_id), next(filter(None, why), before))
    send_produce_response(broker, sender, request, error, NO_OFFSET, None, log_start)
    journal.cause = before
