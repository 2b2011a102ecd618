"""Draws the plan of the code from its imports, as an SVG picture for light and dark pages: `python -m tests.plan docs/plan.svg`.

A colored box is a folder, with the first sentence of its docstring. A box with an outline lists files that stand directly in a package.
Each row imports only rows below it in its package, and packages below or to the right. An arrow leads from a folder to one that it imports, unless
other arrows already lead there.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import attrs

from tests.import_graph import ROOT, circles, import_graph, modules

BANDS: Final = ("tui", "spark_reports", "scenarios", "core/lab", "core/models", "core/kafka", "core/sim")
"""The frames of the picture, in the order in which they can import each other. A module belongs to the last frame whose folder contains
it.
"""

WIDTH: Final = 1040
MARGIN: Final = 20
COLUMN: Final = (WIDTH - 3 * MARGIN) // 2
PADDING: Final = 16
GAP: Final = 14
ROW_GAP: Final = 22
FILE_GAP: Final = 10
"""The space above and below a row without folders."""

BAND_GAP: Final = 30
TOP: Final = 76
LETTER: Final = 6.8
"""The width of a letter in a file's name."""

HEADING: Final = 34
LINE: Final = 15

_STYLE: Final = """
  .page { fill: #fbfbfd } .band { fill: #fff; stroke: #d5d9e2 } .core { fill: #f2f4f8; stroke: #c3c9d6 }
  .files { fill: none; stroke: #aab2c2; stroke-dasharray: 3 3 }
  text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1d2433; font-size: 12px }
  .name { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-weight: 600; font-size: 13px }
  .title { font-weight: 700; font-size: 16px } .quiet { fill: #5b6475 }
  .file { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 11px; fill: #5b6475 }
  .arrow { fill: none; stroke: #8390a8; stroke-width: 1.4 } .head { fill: #8390a8 }
  .road { fill: none; stroke: #4a5670; stroke-width: 2.5 } .roadhead { fill: #4a5670 }
  .tui { fill: #dfeafd; stroke: #7ea6e8 } .spark_reports { fill: #fde9d6; stroke: #e0a668 } .scenarios { fill: #e3f3e1; stroke: #84bd7d }
  .lab { fill: #efe4fa; stroke: #b08fd8 } .kafka { fill: #fbe1e6; stroke: #dd8c9d } .models { fill: #fdf0d0; stroke: #d3aa4b } .sim { fill: #dff3f3; stroke: #72b9ba }
  @media (prefers-color-scheme: dark) {
    .page { fill: #11151d } .band { fill: #181d27; stroke: #343c4c } .core { fill: #141923; stroke: #39435a }
    text { fill: #e6eaf2 } .quiet { fill: #9ba6ba } .file { fill: #a4afc3 } .files { stroke: #566078 }
    .arrow { stroke: #77839b } .head { fill: #77839b } .road { stroke: #aab6cf } .roadhead { fill: #aab6cf }
    .tui { fill: #1c2c4a; stroke: #4f7cc4 } .spark_reports { fill: #402c18; stroke: #b97f40 } .scenarios { fill: #1d3520; stroke: #579350 }
    .lab { fill: #30234a; stroke: #8763b8 } .kafka { fill: #43202a; stroke: #b95d72 } .models { fill: #3f3315; stroke: #a5832f } .sim { fill: #153839; stroke: #45898a }
  }
"""


@attrs.frozen
class Box:
    """A folder, or the files of one row, at a place in the picture.

    Attributes:
        names: the folder's name, or those of the files.
        lines: the text below a folder's name, or the names of the files.
    """

    names: tuple[str, ...]
    lines: tuple[str, ...]
    folder: bool
    x: int
    y: int
    width: int
    height: int


@attrs.frozen
class Band:
    """A frame with its boxes, row by row."""

    name: str
    x: int
    y: int
    width: int
    height: int
    boxes: tuple[Box, ...]


def band_of(file: Path) -> str | None:
    """Return the frame that a module belongs to, or None for a file outside the frames."""
    path = str(file.relative_to(ROOT))
    return next((band for band in BANDS if path.startswith(f"{band}/")), None)


def unit_of(file: Path, band: str) -> str | None:
    """Return the folder (`broker`) or file (`health.py`) of a frame that a module belongs to, or None for the frame's own `__init__.py`."""
    first = file.relative_to(ROOT / band).parts[0]
    return None if first == "__init__.py" else first


def units(band: str, graph: Mapping[str, Sequence[str]], files: Mapping[str, Path]) -> dict[str, set[str]]:
    """Return, for each folder and file of a frame, the units that it imports."""
    found: dict[str, set[str]] = {}
    for module, imported in graph.items():
        if band_of(files[module]) != band or (unit := unit_of(files[module], band)) is None:
            continue
        others = (unit_of(files[other], band) for other in imported if band_of(files[other]) == band)
        found.setdefault(unit, set()).update(other for other in others if other not in (unit, None))  # type: ignore[misc]
    return found


def levels(graph: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Return the distance of each unit from the lowest unit that it needs. Units that import each other are in one row."""
    group = {unit: frozenset([unit]) for unit in graph}
    for circle in circles({unit: sorted(others) for unit, others in graph.items()}):
        group.update(dict.fromkeys(circle, frozenset(circle)))
    known: dict[frozenset[str], int] = {}

    def level(members: frozenset[str]) -> int:
        if members not in known:
            below = {group[other] for unit in members for other in graph[unit]} - {members}
            known[members] = 1 + max(map(level, below), default=-1)
        return known[members]

    return {unit: level(group[unit]) for unit in graph}


def arrows(graph: Mapping[str, Iterable[str]], level: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return the arrows between folders: from each folder to those that it reaches, directly or through files, unless another folder on the
    way reaches them.
    """
    reached: dict[str, set[str]] = {}
    for unit in sorted(graph, key=level.__getitem__):
        below = [other for other in graph[unit] if level[other] < level[unit]]
        reached[unit] = set(below).union(*(reached[other] for other in below))
    folders = [unit for unit in sorted(graph) if not unit.endswith(".py")]
    found = []
    for unit in folders:
        targets = {other for other in folders if other in reached[unit]}
        found += [(unit, other) for other in sorted(targets) if not any(other in reached[between] for between in targets)]
    return found


def about(folder: Path) -> str:
    """Return the first sentence of a folder's docstring, without its examples and sources."""
    text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
    first = re.split(r"(?<=[.:;])\s", text.split("\n\n")[0].replace("\n", " "), maxsplit=1)
    whole = " ".join(first) if len(first[0]) < 24 else first[0]
    return re.split(r"(?<=[.;])\s", whole.replace("`", ""))[0].rstrip(".:;")


def _box(names: Sequence[str], band: str, x: int, y: int, width: int) -> Box:
    folder = not names[0].endswith(".py")
    if folder:
        text = about(ROOT / band if names[0] == band else ROOT / band / names[0])
        lines = textwrap.wrap(text, int((width - 20) / 6.5))
    else:
        lines = textwrap.wrap("  ".join(names), int((width - 16) / LETTER), break_long_words=False)
    height = 18 + LINE * (len(lines) + folder)
    return Box(tuple(names), tuple(lines), folder, x, y, width, height)


def lay_out(band: str, graph: Mapping[str, Iterable[str]], x: int, y: int, width: int) -> Band:
    """Return a frame at a place, with the necessary height."""
    level = levels(graph)
    inside = width - 2 * PADDING
    boxes: list[Box] = []
    top = y + HEADING + 8
    height = 0
    for row in range(max(level.values(), default=0), -1, -1):
        members = sorted(unit for unit in graph if level[unit] == row)
        folders = [(unit,) for unit in members if not unit.endswith(".py")]
        files = tuple(unit for unit in members if unit.endswith(".py"))
        groups = [*folders, files] if files else folders
        free = inside - GAP * (len(groups) - 1)
        shares = [1] * len(groups)
        if files and folders:
            beside = 20 + round(LETTER * max(map(len, files)))
            shares = [*(free - beside for _ in folders), beside * len(folders)]
        if height:
            top += height + (ROW_GAP if folders and any(box.folder for box in boxes if box.y == top) else FILE_GAP)
        left = x + PADDING
        placed = []
        for group, share in zip(groups, shares, strict=True):
            own = free * share // sum(shares)
            placed.append(_box(group, band, left, top, own))
            left += own + GAP
        height = max(box.height for box in placed)
        boxes += (attrs.evolve(box, height=height) for box in placed)
    return Band(band, x, y, width, top + height + PADDING - y, tuple(boxes))


def _text(x: float, y: float, kind: str, words: str, anchor: str = "start") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}" xml:space="preserve">{escape(words)}</text>'


def _rectangle(kind: str, x: int, y: int, width: int, height: int, radius: int) -> str:
    return f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}"/>'


def _paint(box: Box, color: str) -> list[str]:
    out = [_rectangle(color if box.folder else "files", box.x, box.y, box.width, box.height, 7)]
    top = box.y + 20
    if box.folder:
        out.append(_text(box.x + 10, top, "name", box.names[0]))
        top += LINE
    kind = "quiet" if box.folder else "file"
    return out + [_text(box.x + 10, top + LINE * row, kind, line) for row, line in enumerate(box.lines)]


def _arrow(upper: Box, lower: Box, between: Sequence[Box]) -> str:
    """Draw a line from the lower edge of a box to the upper edge of another box, around the boxes between them."""
    overlap = (max(upper.x, lower.x), min(upper.x + upper.width, lower.x + lower.width))
    if overlap[1] - overlap[0] > 30:
        start = end = sum(overlap) / 2
    else:
        start, end = upper.x + upper.width / 2, lower.x + lower.width / 2
    top, bottom = upper.y + upper.height, lower.y
    blocked = [box for box in between if top < box.y < bottom and box.x - 4 < start < box.x + box.width + 4]
    if blocked:
        side = min(box.x for box in between) - 8
        start, end = upper.x + 22, lower.x + 22
        path = f"M{start:g},{top} C{start:g},{top + 12} {side},{top + 6} {side},{top + 20} L{side},{bottom - 22} C{side},{bottom - 8} {end:g},{bottom - 14} {end:g},{bottom - 5}"
    else:
        path = f"M{start:g},{top} C{start:g},{top + 12} {end:g},{bottom - 16} {end:g},{bottom - 5}"
    return f'<path class="arrow" d="{path}" marker-end="url(#head)"/>'


def _band(band: Band, graph: Mapping[str, Iterable[str]]) -> list[str]:
    color = band.name.rpartition("/")[2]
    out = [_rectangle("band", band.x, band.y, band.width, band.height, 12), _text(band.x + PADDING, band.y + 25, "title", band.name)]
    place = {box.names[0]: box for box in band.boxes}
    out += (_arrow(place[upper], place[lower], band.boxes) for upper, lower in arrows(graph, levels(graph)))
    for box in band.boxes:
        out += _paint(box, color)
    return out


def _check(graph: Mapping[str, Sequence[str]], files: Mapping[str, Path]) -> None:
    """Fail if a frame imports a frame that the picture shows above it or to its left."""
    for module, imported in graph.items():
        for other in imported:
            upper, lower = band_of(files[module]), band_of(files[other])
            if upper and lower and BANDS.index(upper) > BANDS.index(lower):
                raise SystemExit(f"{module} imports {other}: the plan has no room for that arrow")


def _road(start: tuple[int, int], end: tuple[int, int]) -> str:
    """Draw a straight arrow from one frame to another."""
    return f'<path class="road" d="M{start[0]},{start[1]} L{end[0]},{end[1]}" marker-end="url(#roadhead)"/>'


def plan() -> str:
    """Return the picture."""
    files = modules()
    graph = import_graph()
    _check(graph, files)
    rows = {band: units(band, graph, files) for band in BANDS}

    tui = lay_out("tui", rows["tui"], MARGIN, TOP, COLUMN)
    right = 2 * MARGIN + COLUMN
    spark = lay_out("spark_reports", rows["spark_reports"], right, TOP, COLUMN)
    scenarios = lay_out("scenarios", rows["scenarios"], right, spark.y + spark.height + BAND_GAP, COLUMN)
    core = max(tui.y + tui.height, scenarios.y + scenarios.height) + BAND_GAP
    inner = (WIDTH - 2 * MARGIN - 2 * PADDING - MARGIN) // 2
    lab = lay_out("core/lab", rows["core/lab"], MARGIN + PADDING, core + HEADING, inner)
    kafka = lay_out("core/kafka", rows["core/kafka"], lab.x + inner + MARGIN, core + HEADING, inner)
    models = lay_out("core/models", rows["core/models"], lab.x, lab.y + lab.height + BAND_GAP, inner)
    below = max(models.y + models.height, kafka.y + kafka.height) + BAND_GAP
    sim = lay_out("core/sim", rows["core/sim"], lab.x, below, 2 * inner + MARGIN)
    bottom = sim.y + sim.height + PADDING

    middle = scenarios.x + scenarios.width // 2
    roads = [
        _road((tui.x + tui.width, TOP + 20), (spark.x - 6, TOP + 20)),
        _road((tui.x + tui.width, scenarios.y + 20), (scenarios.x - 6, scenarios.y + 20)),
        _road((tui.x + tui.width // 2, tui.y + tui.height), (tui.x + tui.width // 2, core - 6)),
        _road((middle, spark.y + spark.height), (middle, scenarios.y - 6)),
        _road((middle, scenarios.y + scenarios.height), (middle, core - 6)),
        _road((lab.x + lab.width, lab.y + 20), (kafka.x - 6, kafka.y + 20)),
        _road((lab.x + lab.width // 2, lab.y + lab.height), (lab.x + lab.width // 2, models.y - 6)),
        _road((models.x + models.width // 2, models.y + models.height), (models.x + models.width // 2, sim.y - 6)),
        _road((kafka.x + kafka.width // 2, kafka.y + kafka.height), (kafka.x + kafka.width // 2, sim.y - 6)),
    ]
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + MARGIN}" width="{WIDTH}" height="{bottom + MARGIN}" role="img">',
        "<title>The plan of isrlab: its folders, and which imports which</title>",
        f"<style>{_STYLE}</style>",
        f"<defs>{_marker('head', 7)}{_marker('roadhead', 5)}</defs>",
        _rectangle("page", 0, 0, WIDTH, bottom + MARGIN, 0),
        _text(MARGIN, 34, "title", "The plan of isrlab"),
        _text(
            MARGIN,
            56,
            "quiet",
            "Imports lead down and to the right only. A colored box is a folder. A dashed box lists files that stand beside the folders.",
        ),
        _rectangle("core", MARGIN, core, WIDTH - 2 * MARGIN, bottom - core, 14),
        _text(MARGIN + PADDING, core + 23, "title", "core"),
        _text(MARGIN + PADDING + 44, core + 23, "quiet", "imports only the standard library and attrs"),
    ]
    for band in (tui, spark, scenarios, lab, models, kafka, sim):
        out += _band(band, rows[band.name])
    return "\n".join([*out, *roads, "</svg>"]) + "\n"


def _marker(name: str, size: int) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="3" refY="4" markerWidth="{size}" markerHeight="{size}" orient="auto">'
        f'<path class="{name}" d="M0,0 L8,4 L0,8 z"/></marker>'
    )


def main() -> int:
    """Run the command line and return the exit code."""
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    Path(sys.argv[1]).write_text(plan(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
