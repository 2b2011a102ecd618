"""The frozen state of a broker, of a voter of the controller quorum, and of a link."""

from __future__ import annotations

from typing import Final

import attrs

from core.kafka.broker.broker_state import BrokerState
from core.sim.repr_mixin import ReprMixin

BUSY: Final = 80
"""The share of a bandwidth, in percent, from which an interface counts as busy, and determines how long copies take. With the limits of a
fetch, it is not used fully even if nothing else delays a follower, because nothing is under way between two fetches.
"""


@attrs.frozen(repr=False)
class NetworkUse(ReprMixin):
    """How a broker uses a network interface of limited bandwidth.

    Attributes:
        rate: the bytes per second that the interface can send, and that it can receive.
        sent, received: the bytes that passed in the last full second of virtual time, at most `rate`.
        to_send, to_receive: the bytes that wait for the interface, including what it works on.
    """

    rate: int
    sent: int
    received: int
    to_send: int
    to_receive: int

    @property
    def out_percent(self) -> int:
        """The share of the bandwidth that was used for sending, in percent, rounded down."""
        return 100 * self.sent // self.rate

    @property
    def in_percent(self) -> int:
        """The share of the bandwidth that was used for receiving, in percent, rounded down."""
        return 100 * self.received // self.rate


@attrs.frozen(repr=False)
class BrokerView(ReprMixin):
    """One broker.

    Attributes:
        id: the broker ID.
        rack: broker.rack; None if the broker has no rack.
        state: the state of the broker's process.
        fenced: whether the controller has fenced the broker.
        broker_epoch: the epoch of the broker's registration.
        leaders: the number of partitions that the broker leads, according to the controller.
        replicas: the number of replicas on the broker, according to the controller.
        metadata_offset: the offset up to which the broker has read the metadata log.
        silent_us: the time since the broker's last heartbeat reached the controller.
        log_dirs: the number of log directories.
        failed_dirs: the failed log directories, numbered from 1.
        disk_delay_us: how much longer each write takes than on a normal disk.
        network: how the broker uses its network interface; None if the bandwidth is not limited.
    """

    id: int
    rack: str | None
    state: BrokerState
    fenced: bool
    broker_epoch: int
    leaders: int
    replicas: int
    metadata_offset: int
    silent_us: int
    log_dirs: int = 1
    failed_dirs: tuple[int, ...] = ()
    disk_delay_us: int = 0
    network: NetworkUse | None = None

    @property
    def up(self) -> bool:
        """Whether the broker's process is running and the controller considers it alive."""
        return self.state is BrokerState.RUNNING and not self.fenced


@attrs.frozen(repr=False)
class VoterView(ReprMixin):
    """One voter of the metadata quorum.

    Attributes:
        name: the name of the voter.
        role: `stopped`, `unattached`, `follower`, `prospective`, `candidate`, or `leader`.
        epoch, leader: the epoch and the leader that the voter knows.
        end: the end offset of the voter's log.
        high_watermark: the voter's high watermark.
        active: whether the voter considers itself the active controller.
    """

    name: str
    role: str
    epoch: int
    leader: str
    end: int
    high_watermark: int
    active: bool


@attrs.frozen(repr=False)
class LinkView(ReprMixin):
    """One direction of a link that differs from the other links.

    Attributes:
        src, dst: the addresses of the sender and the receiver.
        latency_us, jitter_us: the latency and jitter of the link if they exceed the usual values; otherwise 0.
        loss_ppm, duplicate_ppm, reorder_ppm: the shares of messages that are lost, duplicated, and reordered, in parts per million.
        usual_latency_us: the latency that the link has if nothing changes it, in µs.
    """

    src: str
    dst: str
    latency_us: int
    jitter_us: int
    loss_ppm: int
    duplicate_ppm: int
    reorder_ppm: int
    usual_latency_us: int
