"""The options that name a running cluster as the source of a command, and what the commands take from it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from scenarios.io.standard_streams import print_messages

if TYPE_CHECKING:
    from core.kafka.ids import TopicPartition
    from core.kafka.release import Release
    from scenarios.live.facts import LiveCluster, LiveProducer
    from scenarios.live.network.client_properties import ClientProperties
    from scenarios.logs.metadata_state import MetadataState
    from scenarios.running.imported_cluster import ImportedCluster


def add_live_options(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """Add the options `--bootstrap-server` and `--command-config`."""
    group = parser.add_argument_group("a running cluster" if required else "a running cluster instead of a file")
    group.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        required=required,
        help="read this cluster over the network; only requests that change nothing are sent, at most 50 per second (needs the extra 'live')",
    )
    group.add_argument(
        "--command-config", metavar="FILE", help="with --bootstrap-server: Kafka's client properties file with TLS and SASL settings"
    )


def live_given(arguments: argparse.Namespace, source: str = "source") -> bool:
    """Return whether a command reads a running cluster.

    Args:
        arguments: the arguments of the command.
        source: the name of the argument that names a file instead.

    Raises:
        InputError: the options contradict each other, or the command has no source at all.
    """
    from scenarios.errors import InputError

    server, config = getattr(arguments, "bootstrap_server", None), getattr(arguments, "command_config", None)
    if server is None:
        if config is not None:
            raise InputError("--command-config: needs --bootstrap-server; name the cluster")
        return False
    if source and getattr(arguments, source) is not None:
        raise InputError(f"--bootstrap-server: '{getattr(arguments, source)[:80]}' names another source; omit one of them")
    if getattr(arguments, "groups", None):
        raise InputError("--groups: --bootstrap-server reads the groups itself; omit this option")
    return True


def read_live(arguments: argparse.Namespace, *, groups: bool = True) -> LiveCluster:
    """Read the cluster that `--bootstrap-server` names.

    Raises:
        InputError: the cluster or the client properties file cannot be read.
    """
    from scenarios.live.network.cluster_client import ClusterClient
    from scenarios.live.read_cluster import read_cluster

    with ClusterClient(arguments.bootstrap_server, client_properties_of(arguments)) as client:
        return read_cluster(client, groups=groups)


def client_properties_of(arguments: argparse.Namespace) -> ClientProperties:
    """Return how to connect to the cluster.

    Raises:
        InputError: the client properties file cannot be read.
    """
    from scenarios.live.network.client_properties import ClientProperties, read_client_properties

    return ClientProperties() if arguments.command_config is None else read_client_properties(arguments.command_config)


def live_producers(arguments: argparse.Namespace, tp: TopicPartition, broker: int | None) -> list[LiveProducer]:
    """Return the producers of a partition, as a broker of the cluster knows them; without a broker, as the leader does.

    Raises:
        InputError: the cluster cannot be read, or the broker does not tell.
    """
    from core.kafka.ids import NO_LEADER
    from scenarios.errors import InputError
    from scenarios.live.network.cluster_client import ClusterClient
    from scenarios.live.network.errors import BrokerError, Refused
    from scenarios.live.read_cluster import read_metadata
    from scenarios.live.read_transactions import read_producers
    from scenarios.live.unknowns import Unknowns

    asked = "leader" if broker is None else f"broker {broker}"
    with ClusterClient(arguments.bootstrap_server, client_properties_of(arguments)) as client:
        metadata = read_metadata(client, Unknowns(client))
        client.homes = {each.id: (each.host, each.port) for each in metadata.brokers.values()}
        topic = metadata.topics.get(tp.topic)
        partition = None if topic is None else topic.partitions.get(tp.partition)
        if partition is None:
            raise InputError(f"--topic, --partition: the cluster has no partition {tp}")
        number = partition.leader if broker is None else broker
        try:
            if number == NO_LEADER or number not in client.homes:
                raise BrokerError("the partition has no leader" if broker is None else "the cluster has no such broker")
            return read_producers(client, tp, number)
        except (BrokerError, Refused) as wrong:
            raise InputError(f"Failed to describe producers for partition {tp} on {asked}: {wrong}") from None


def import_live_cluster(arguments: argparse.Namespace, release: Release | None) -> tuple[ImportedCluster, Release]:
    """Return a copy of the cluster that `--bootstrap-server` names, and the release under which it runs. The notes say how the release was found.

    Raises:
        InputError: the cluster cannot be read, or no cluster can be in its state.
    """
    import attrs

    from scenarios.live.imported import import_live, release_for

    live = read_live(arguments)
    under, said = release_for(live, release)
    imported = import_live(live, under)
    return attrs.evolve(imported, notes=(*said, *imported.notes)), under


def live_moment(arguments: argparse.Namespace, at: int | None, release: Release | None) -> MetadataState:
    """Return the metadata of the cluster that `--bootstrap-server` names; with a time, that of a copy that has run for this time.

    Raises:
        InputError: the cluster cannot be read, or no cluster can be in its state.
    """
    from scenarios.live.imported import described_topics, import_live, live_brokers, release_for
    from scenarios.logs.metadata_state import MetadataState

    live = read_live(arguments, groups=False)
    under, said = release_for(live, release)
    print_messages(*said)
    if at is None:
        print_messages(*(note for note in live.unknown if "settings" in note or "topic" in note))
        return MetadataState(described_topics(live, under), live_brokers(live), under, printed_already=True)
    from core.lab.cluster import Cluster
    from core.lab.views.metadata_response import states_in_metadata_cache
    from scenarios.describe.render import from_view

    imported = import_live(live, under, groups=False)
    print_messages(*imported.notes)
    cluster = Cluster(imported.scenario.spec, under)
    cluster.run_until(at)
    view = cluster.view()
    fenced = frozenset(broker.id for broker in view.brokers if not broker.fenced)
    return MetadataState(from_view(view, states_in_metadata_cache(cluster)), fenced, under)
