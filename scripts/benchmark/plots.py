"""How times and memory grow with the memories of one user: one SVG each, both axes logarithmic."""

import math
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 80, 190, 40, 50
COLOURS = ("#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#8c564b", "#ff7f0e", "#17becf")
# What is drawn, and of which index.
FIGURES = (
    ("wall_s", "Wall time of planning, seconds", "FLAT HASH", "wall-flat"),
    ("wall_s", "Wall time of planning, seconds", "HNSW HASH", "wall-hnsw"),
    ("server_cpu_s", "CPU time of the server, seconds", "FLAT HASH", "server"),
    ("client_cpu_s", "CPU time of the client, seconds", "FLAT HASH", "client"),
    ("peak_rss_mb", "Peak memory of the client, MiB", "FLAT HASH", "memory"),
)


def draw(rows: list[dict], folder: Path) -> None:
    """Draws each figure that was measured at two sizes or more."""
    for column, title, index, name in FIGURES:
        lines: dict[str, list[tuple[float, float]]] = {}
        for row in rows:
            group, way = row["case"].split("/")
            if group == "plan" and row["index"] == index and row[column]:
                lines.setdefault(way, []).append((row["n"], row[column]))
        if any(len(points) > 1 for points in lines.values()):
            (folder / f"performance-{name}.svg").write_text(plot(f"{title} ({index})", lines))


def plot(title: str, lines: dict[str, list[tuple[float, float]]]) -> str:
    points = [point for line in lines.values() for point in line]
    (left, right), (low, high) = (span(values) for values in zip(*points, strict=True))

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - left) / (right - left) * (WIDTH - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - (math.log10(value) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    parts = [f'<text x="{LEFT}" y="22" font-size="15">{title}</text>']
    for power in range(left, right + 1):
        at = x(10**power)
        parts.append(f'<line x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HEIGHT - BOTTOM}" stroke="#ddd"/>')
        parts.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{10**power:,}</text>')
    for power in range(low, high + 1):
        at = y(10**power)
        parts.append(f'<line x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{10**power:g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.0f}" y="{HEIGHT - 10}" text-anchor="middle">memories of the user</text>')
    # Names stand beside the ends of their lines, apart from each other.
    places = sorted((y(max(line)[1]), way) for way, line in lines.items())
    below = -math.inf
    for place, way in places:
        below = max(place, below + 16)
        line = sorted(lines[way])
        colour = COLOURS[list(lines).index(way) % len(COLOURS)]
        width = 3 if way == "memfold" else 1.5
        path = " ".join(f"{x(n):.1f},{y(value):.1f}" for n, value in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"/>')
        parts += [f'<circle cx="{x(n):.1f}" cy="{y(value):.1f}" r="3" fill="{colour}"/>' for n, value in line]
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{below + 4:.1f}" fill="{colour}">{way}</text>')
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n'
    )


def span(values: tuple[float, ...]) -> tuple[int, int]:
    """The powers of ten around some values, two different ones."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
