"""The lines below the picture: links with a problem, the details of the selected node, and what the others wait for."""

from __future__ import annotations

from rich.style import Style
from textual.strip import Strip

from core.kafka.health import STALL_BOUND
from core.lab.reports.traffic_report import LinkTraffic
from tui.analysis.topology import Tie, Topology, age
from tui.maps.link_words import FAULTS, Parts, link_parts
from tui.rendering.palette import Palette
from tui.rendering.rows import Row, clip, rule, wrap


def trouble_lines(topology: Topology, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return a line for each link between brokers, controllers, and clients that has a fault or stuck messages, the worst first."""
    ties = [tie for tie in topology.ties.values() if tie.faults or tie.stuck]
    ties.sort(key=lambda tie: (not tie.faults, -tie.stuck))
    lines: list[Strip] = []
    if height < 1:
        return lines
    for tie in ties[:height]:
        row = Row().add(f" {tie.one}", paint.broker).add(" ─ ", paint.faint).add(f"{tie.other:<6}", paint.broker).add(" ", paint.text)
        lines.append(row.join(link_parts(tie, tie.one, paint)).strip(width))
    if len(ties) > height:
        lines[-1] = Row().add(f" and {len(ties) - height + 1} more links with a problem", paint.muted).strip(width)
    return lines


def _messages(link: LinkTraffic | None) -> str:
    """Name the messages of a direction, for example `Fetch, 2 Produce, 3 Produce stuck`."""
    if link is None:
        return ""
    said = [f"{count} {name}" if count > 1 else name for name, count in link.moving]
    said += [f"{count} {name} stuck" if count > 1 else f"{name} stuck" for name, count in link.stuck]
    return ", ".join(said)


def _link_lines(topology: Topology, tie: Tie, name: str, paint: Palette, width: int) -> list[Strip]:
    """Return up to two lines about a link in the details of a node: the other end, the fault, the fetches, and the messages by name."""
    far = tie.far_end(name)
    node = topology.node(far)
    parts: Parts = []
    word, way, much = tie.fault_from(name)
    if word:
        glyph, role = FAULTS.get(word, ("!", "warn"))
        parts.append((f"{glyph} {word}" + ("" if way == "↔" else f" {way}") + (f" {much}" if much else ""), getattr(paint, role)))
    elif node is not None and node.role != "good":
        parts.append((f"{node.glyph} {node.word}", getattr(paint, node.role)))
    mine, theirs = tie.fetched if tie.one == name else tie.fetched[::-1]
    if mine or theirs:
        parts.append((", ".join(filter(None, [f"fetches {mine}" if mine else "", f"serves {theirs}" if theirs else ""])), paint.muted))
    if tie.waits_us > STALL_BOUND:
        parts.append((f"unanswered for {age(tie.waits_us)}", paint.warn))
    out, back = (tie.out, tie.back) if tie.one == name else (tie.back, tie.out)
    rows: list[Strip] = []
    row = Row().add(f" {clip(far, 10):<10}", paint.broker)
    for arrow, link in (("→", out), ("←", back)):
        if said := _messages(link):
            parts.append((f"{arrow} {said}", paint.bad if link is not None and link.stuck else paint.you))
    if not parts:
        return []
    for text, style in parts:
        if row.width + len(text) + 1 > width and row.width > 12 and not rows:
            rows.append(row.strip(width))
            row = Row().pad(11)
        row.add(" " + text + " ", style)
    return [*rows, row.strip(width)]


def detail_lines(topology: Topology, name: str, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return the details of a node: what it waits for, and its links. Wide screens show both side by side."""
    node = topology.node(name)
    if node is None or height < 1:
        return []
    state: Style = getattr(paint, node.role)
    title = f"{node.kind} {node.name}" if node.kind not in (node.name, "ZooKeeper") else node.name
    zone = f", rack {node.zone}" if node.zone else ""
    lines = [rule(title, f"{node.glyph} {node.word}, {node.does}{zone}", width, paint.title, paint.faint, state)]
    waits: list[tuple[str, Style]] = []
    split = width >= 110
    left = (width - 3) // 2 if split else width - 1
    for wait in node.waits:
        for number, line in enumerate(wrap(wait.full, left - 4)):
            waits.append((("• " if not number else "  ") + line, paint.text if wait.urgent else paint.muted))
    if not waits:
        waits = [("• It waits for nothing out of the ordinary.", paint.muted)]
    ties = topology.ties_of(name)
    if split:
        links = [line for tie in ties for line in _link_lines(topology, tie, name, paint, width - left - 2)]
        rows = max(len(waits), len(links))
        for number in range(min(rows, height - 1)):
            row = Row()
            if number < len(waits):
                row.add(" " + clip(waits[number][0], left - 1), waits[number][1])
            row.pad(left).add("│", paint.faint)
            if number < len(links):
                for segment in links[number]:
                    row.add(segment.text, segment.style or paint.text)
            lines.append(row.strip(width))
    else:
        lines += [Row().add(" " + text, style).strip(width) for text, style in waits]
        lines += [line for tie in ties for line in _link_lines(topology, tie, name, paint, width)]
    if len(lines) > height:
        lines = [*lines[: height - 1], Row().add(f" and {len(lines) - height + 1} more lines", paint.faint).strip(width)]
    return lines[:height]


def wait_lines(topology: Topology, selected: str, paint: Palette, width: int, height: int) -> list[Strip]:
    """Return what the nodes other than the selected one wait for, the urgent first; nothing if there are less than two lines."""
    if height < 3:
        return []
    found = [(node, wait) for node in topology.nodes if node.name != selected for wait in node.waits]
    found.sort(key=lambda each: not each[1].urgent)
    if not found:
        return []
    urgent = sum(wait.urgent for _, wait in found)
    note = f"{urgent} with a problem" if urgent else "nothing out of the ordinary"
    lines = [rule("What the other nodes wait for", note, width, paint.title, paint.faint, paint.warn if urgent else paint.muted)]
    for node, wait in found[: height - 1]:
        row = Row().add(f" {clip(node.name, 12):<12} ", paint.broker)
        lines.append(row.add(clip(wait.full, width - row.width - 1), paint.text if wait.urgent else paint.muted).strip(width))
    if len(found) > height - 1:
        lines[-1] = Row().add(f" and {len(found) - height + 2} more", paint.faint).strip(width)
    return lines
