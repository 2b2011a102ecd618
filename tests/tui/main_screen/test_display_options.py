"""Display options: palettes and glyphs that can be distinguished, keys from a file, and the messages about an invalid file."""

from __future__ import annotations

import io
import itertools
import tomllib
from argparse import Namespace
from pathlib import Path

import attrs
import pytest
from rich.color import Color, ColorSystem
from rich.console import Console

from core.kafka.health import PartitionStatus
from scenarios.errors import InputError
from tests.tui.app.test_playground import done, playing, said, screen_text
from tests.tui.states import partition, replica, view_of
from tui.actions.all_actions import ACTIONS, BY_ID
from tui.actions.custom_keys import EATEN, RESERVED, Keymap, as_toml, default_path, key_text, keymap_of, load_keymap
from tui.arguments.options import display_of
from tui.cli import main
from tui.main_screen.display_options import FRAMES, SLOW_FRAMES, DisplayOptions
from tui.rendering.palette import ABOUT, HUES, PALETTES, Hues, palette_of
from tui.rendering.states import broker_state, partition_status, replica_marks
from tui.terminal.filters import to_ascii

# --- colors, measured --------------------------------------------------------------------------------------------

BLINDNESS = {
    "none": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""How linear RGB appears with each type of color blindness: Machado, Oliveira, and Fernandes 2009, severity 1."""


def linear(color: str) -> list[float]:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def luminance(color: str) -> float:
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, two: str) -> float:
    """Return the contrast ratio as WCAG 2 defines it."""
    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def lab(color: str, blindness: str) -> tuple[float, float, float]:
    seen = [min(1.0, max(0.0, sum(a * b for a, b in zip(row, linear(color), strict=True)))) for row in BLINDNESS[blindness]]
    red, green, blue = seen
    xyz = (
        (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
        0.2126 * red + 0.7152 * green + 0.0722 * blue,
        (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
    )
    x, y, z = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, two: str, blindness: str) -> float:
    """Return the color difference according to CIE76."""
    return sum((a - b) ** 2 for a, b in zip(lab(one, blindness), lab(two, blindness), strict=True)) ** 0.5


TEXTS = ("text", "strong", "muted", "accent", "key", "good", "warn", "bad", "leader", "broker", "partition")


@pytest.mark.parametrize("name", HUES)
def test_text_can_be_read_on_the_ground(name: str) -> None:
    hues = HUES[name]
    least = 7.0 if name == "contrast" else 4.5
    assert {
        role: contrast(getattr(hues, role), hues.background) for role in TEXTS if contrast(getattr(hues, role), hues.background) < least
    } == {}


def test_high_contrast_is_high_everywhere() -> None:
    hues = HUES["contrast"]
    for ground in (hues.background, hues.raised, hues.cursor):
        for role in (*TEXTS, "faint", "committed"):
            assert contrast(getattr(hues, role), ground) >= 6.5, (role, ground)


@pytest.mark.parametrize("blindness", BLINDNESS)
def test_the_color_blind_palette_keeps_states_apart(blindness: str) -> None:
    hues = HUES["color-blind"]
    for one, two in itertools.combinations((hues.good, hues.warn, hues.bad), 2):
        assert distance(one, two, blindness) >= 40, (one, two)
    assert distance(hues.committed, hues.warn, blindness) >= 40


def test_sixteen_colors_are_written_as_themselves() -> None:
    hues = attrs.asdict(HUES["sixteen"])
    numbers = {role: Color.parse(value).downgrade(ColorSystem.STANDARD).number for role, value in hues.items()}
    for value in hues.values():
        assert set(Color.parse(value).triplet or ()) <= {0, 85, 170, 255}
    assert len({numbers[role] for role in ("background", "cursor", "good", "warn", "bad", "committed", "text", "strong")}) == 8


@pytest.mark.parametrize("name", ["dark", "light", "color-blind", "contrast"])
def test_256_colors_are_enough(name: str) -> None:
    palette = palette_of(name, few=True)

    def shown(color: Color | None) -> str:
        assert color is not None
        return color.downgrade(ColorSystem.EIGHT_BIT).get_truecolor().hex

    ground, cursor, row = shown(palette.base.bgcolor), shown(palette.cursor.bgcolor), shown(palette.row.bgcolor)
    assert ground != cursor
    for role in ("text", "strong", "good", "warn", "bad", "leader", "broker", "partition", "number"):
        for under in (ground, cursor, row):
            assert contrast(shown(getattr(palette, role).color), under) >= 4.0, (role, under)
    assert len({shown(getattr(palette, role).color) for role in ("good", "warn", "bad")}) == 3


def test_every_palette_says_what_it_is() -> None:
    assert list(ABOUT) == list(PALETTES)
    assert set(HUES) | {"plain"} == set(PALETTES)
    assert isinstance(HUES["dark"], Hues)


# --- glyphs --------------------------------------------------------------------------------------------------------


def test_every_state_has_its_glyph_in_unicode_and_in_ascii() -> None:
    paint = PALETTES["dark"]
    view = view_of()
    broker = view.brokers[0]
    copies = (replica(1, 9, 9), replica(2, 9, 9))
    statuses = [partition_status(partition(*copies, status=status), paint)[0] for status in PartitionStatus]
    statuses.append(partition_status(partition(*copies, diverged=1), paint)[0])
    marks = [
        replica_marks(partition(*copies), attrs.evolve(copies[1], **changes), paint)[0]
        for changes in (
            {},
            {"broker": 1},
            {"in_isr": False},
            {"alive": False},
            {"alive": False, "in_isr": False},
            {"role": "leader"},
        )
    ]
    states = [
        broker_state(attrs.evolve(broker, state=state, fenced=fenced), paint)[:2]
        for state in type(broker.state)
        for fenced in (False, True)
        if not (fenced and state.value in ("starting", "stopping"))
    ]
    assert len(set(statuses)) == len(statuses)
    assert len(set(map(to_ascii, statuses))) == len(statuses)
    assert len(set(marks)) == len(marks)
    assert len(set(map(to_ascii, marks))) == len(marks)
    assert len(set(states)) == len(states)


# --- what the terminal can ------------------------------------------------------------------------------------------


def terminal(**environ: str) -> Console:
    return Console(file=io.StringIO(), force_terminal=True, _environ=environ)


@pytest.mark.parametrize(
    ("environ", "palette"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, "dark"),
        ({"TERM": "xterm-256color"}, "dark"),
        ({"TERM": "tmux-256color"}, "dark"),
        ({"TERM": "xterm"}, "sixteen"),
        ({"TERM": "linux"}, "sixteen"),
        ({"TERM": "dumb"}, "plain"),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, "plain"),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, "dark"),
    ],
)
def test_the_palette_is_what_the_terminal_has_colors_for(environ: dict[str, str], palette: str) -> None:
    assert DisplayOptions().palette_for(terminal(**environ), environ) == palette
    assert DisplayOptions(palette="contrast").palette_for(terminal(**environ), environ) == "contrast"


def options(**given: object) -> Namespace:
    return Namespace(**{"fps": None, "slow_link": False, "ascii": False, "palette": None, "keys": None, **given})


def test_frames_per_second(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert display_of(options()).frames == FRAMES
    assert display_of(options(fps="7")).frames == 7
    assert display_of(options(slow_link=True)).frames == SLOW_FRAMES
    assert display_of(options(slow_link=True, fps="5")).frames == 5


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--fps", "0"], "--fps: '0' is not a number of frames; write a whole number from 1 to 60"),
        (["--fps", "61"], "--fps: '61' is not a number of frames; write a whole number from 1 to 60"),
        (["--fps", "fast"], "--fps: 'fast' is not a number of frames; write a whole number from 1 to 60"),
        (["--palette", "contrasts"], "--palette: no palette 'contrasts'; did you mean 'contrast'?"),
        (["--keys", "nowhere.toml"], "nowhere.toml: cannot be read: No such file or directory"),
    ],
)
def test_a_wrong_option_is_reported_before_anything_starts(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["play", *given]) == 2
    assert capsys.readouterr().err == f"isrlab: {told}\n"


# --- keys ----------------------------------------------------------------------------------------------------------


def test_no_key_that_somebody_else_eats_is_an_actions_only_one() -> None:
    for action in ACTIONS:
        assert [key for key in action.keys if key not in EATEN], action.id
        assert not set(action.keys) & set(RESERVED) - {"ctrl+c", "escape"}, action.id  # Esc, too, closes what is open


def test_no_key_has_two_actions() -> None:
    keys = [key for action in ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys))


def test_the_printed_keymap_is_the_keymap() -> None:
    assert keymap_of(tomllib.loads("\n".join(as_toml(Keymap()))), "printed") == Keymap()
    other = keymap_of({"keys": {"kill": ["J", "f8"], "quit": '"', "step": "\\"}}, "a file")
    assert keymap_of(tomllib.loads("\n".join(as_toml(other))), "printed") == other
    assert keymap_of({"keys": {"colours": "f9"}}, "an old file") == keymap_of({"keys": {"colors": "f9"}}, "a file") != Keymap()
    assert other.keys("kill") == ("J", "f8")
    assert other.keys("quit") == ("quotation_mark", "ctrl+c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[keys]\nkil = "J"', "[keys] kil: no such action; did you mean 'kill'?"),
        ('[key]\nkill = "J"', "'key' is not a known section; write the section [keys], and below it, for example, kill = \"J\""),
        ('keys = "J"', 'keys must be a section; write [keys], and below it, for example, kill = "J"'),
        ("[keys]\nkill = 3", '[keys] kill: write a key or a list of keys, for example "J" or ["n", "f8"]'),
        ("[keys]\nkill = []", '[keys] kill: write a key or a list of keys, for example "J" or ["n", "f8"]'),
        ('[keys]\nkill = ["J", ""]', '[keys] kill: write a key or a list of keys, for example "J" or ["n", "f8"]'),
        ('[keys]\nkill = "kk"', "[keys] kill: 'kk' is not a key; write, for example, K, +, f5, ctrl+k, alt+k, or space"),
        ('[keys]\nkill = "spcae"', "[keys] kill: 'spcae' is not a key; did you mean 'space'?"),
        ('[keys]\nkill = "up"', "[keys] kill: ↑ moves the selection; choose another key"),
        ('[keys]\nkill = "ctrl+c"', "[keys] kill: Ctrl+C leaves; choose another key"),
        ('[keys]\nkill = "s"', "[keys] kill: s is already the key of 'start'; give that action another key too"),
        ('[keys]\nstart = "k"', "[keys] start: k is already the key of 'kill'; give that action another key too"),
        ('[keys]\nkill = "9"\nstart = "9"', "[keys] start: 9 is already the key of 'kill'; give that action another key too"),
        ("[keys\n", "not valid TOML: Expected ']' at the end of a table declaration (at line 1, column 6)"),
    ],
)
def test_a_wrong_keymap_is_refused_with_what_would_be_right(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as wrong:
        load_keymap(path)
    assert str(wrong.value) == f"{path}: {told}"


def test_the_file_at_the_usual_place_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_path() == tmp_path / "isrlab" / "keys.toml"
    assert load_keymap() == Keymap()
    default_path().parent.mkdir()
    default_path().write_text('[keys]\nkill = "J"\n', encoding="utf-8")
    assert load_keymap().keys("kill") == ("J",)
    assert main(["keys"]) == 0
    assert 'kill = "J"  #' in capsys.readouterr().out
    default_path().write_bytes(b"\xe9")
    assert main(["keys"]) == 2
    assert "not UTF-8" in capsys.readouterr().err
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert default_path() == Path("/home/somebody/.config/isrlab/keys.toml")


async def test_keys_of_ones_own_act_and_are_shown() -> None:
    keymap = keymap_of({"keys": {"kill": "s", "start": ["k", "f8"], "quit": "J", "load": "alt+l"}}, "a file")
    async with playing(keymap=keymap, size=(120, 110)) as (app, main_screen, pilot):
        assert "s kill" in screen_text(app)
        assert "q quit" not in screen_text(app)
        await pilot.press("s")
        assert done(main_screen) == ["kill b1"]
        await pilot.press("s")
        assert "b1 is stopped; to start it, press k" in said(app, main_screen)
        await pilot.press("f8")
        assert done(main_screen) == ["kill b1", "start b1"]
        await pilot.press("q")
        assert app.is_running
        await pilot.press("?")
        await pilot.pause()
        await pilot.pause()
        assert "Alt+L" in screen_text(app)
        assert "k F8" in screen_text(app)


def test_keys_are_written_as_people_read_them() -> None:
    assert [key_text(key) for key in ("plus", "J", "ctrl+k", "alt+left_square_bracket", "f8", "space", "enter", "down")] == [
        "+", "J", "Ctrl+K", "Alt+[", "F8", "Space", "⏎", "↓",
    ]  # fmt: skip
    assert Keymap().key("step-back") == BY_ID["step-back"].key == ","


# --- changing it while it runs -------------------------------------------------------------------------------------


async def test_the_palette_and_the_glyphs_change_at_once() -> None:
    async with playing() as (app, main_screen, pilot):
        assert "★" in screen_text(app)
        await pilot.press("C", "4")
        await pilot.pause()
        assert app.palette == "contrast"
        grounds = {
            segment.style.bgcolor.name for segment in main_screen.panels.grid.render_line(3) if segment.style and segment.style.bgcolor
        }
        assert "#000000" in grounds
        assert all("#10151c" not in str(segment.style) for line in range(4) for segment in main_screen.panels.grid.render_line(line))
        await pilot.press("C", "6")
        await pilot.pause()
        styles = {str(s.style) for strip in app.screen._compositor.render_strips() for s in app_filtered(app, strip)}
        assert not [style for style in styles if "#" in style]
        await pilot.press("C", "a")
        await pilot.pause()
        assert app.ascii_only
        assert app.export_screenshot().count("★") == 0
        await pilot.press("C", "a", "C", "1")
        assert not app.ascii_only
        assert app.palette == "dark"


def app_filtered(app: object, strip: object) -> list[object]:
    """Return the segments of a strip as they are written to the terminal."""
    segments = list(strip)  # type: ignore[call-overload]
    from textual.color import Color as TextualColor

    for line_filter in app._filters:  # type: ignore[attr-defined]
        if line_filter.enabled:
            segments = line_filter.apply(segments, TextualColor(0, 0, 0))
    return segments
