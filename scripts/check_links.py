"""Checks the links of the Markdown pages of this repository: files, and headings within them. Asks no network.

    python3 scripts/check_links.py [ROOT]

Prints each broken link as FILE:LINE: what is wrong; exit code 1 if there is any.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

LINK = re.compile(r"(?<!\!)\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+(?:\([^()]*\))?)\)|!\[[^\]]*\]\(([^()\s]+)\)")
LEFT_OUT = {".git", ".memfold", "target", "node_modules"}


def pages(root: Path):
    for path in sorted(root.rglob("*.md")):
        if not LEFT_OUT & set(path.relative_to(root).parts):
            yield path


def prose(text: str):
    """The lines outside of code blocks, numbered from 1."""
    fence = None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (fence is None or line.strip().startswith(fence)):
            fence = mark[1] if fence is None else None
        elif fence is None:
            yield number, line


def anchors(text: str) -> set[str]:
    """The names of the headings, as GitHub makes them."""
    found: dict[str, int] = {}
    names = set()
    for _, line in prose(text):
        heading = re.match(r"#{1,6}\s+(.*?)\s*#*$", line)
        if heading:
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading[1]).replace("`", "")
            name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
            seen = found.get(name, 0)
            found[name] = seen + 1
            names.add(f"{name}-{seen}" if seen else name)
        names.update(re.findall(r'<a (?:id|name)="([^"]+)"', line))
    return names


def faults(root: Path):
    known: dict[Path, set[str]] = {}
    for page in pages(root):
        for number, line in prose(page.read_text()):
            for match in LINK.finditer(re.sub(r"`[^`]*`", "``", line)):
                link = unquote(match[1] or match[2])
                if re.match(r"[a-z]+:", link):
                    continue
                file, _, anchor = link.partition("#")
                target = (page.parent / file).resolve() if file else page
                where = f"{page.relative_to(root)}:{number}"
                if not target.exists():
                    yield f"{where}: there is no {link}"
                elif not target.is_relative_to(root):
                    yield f"{where}: {link} leads out of the repository"
                elif anchor and target.suffix == ".md":
                    names = known.setdefault(target, anchors(target.read_text()))
                    if anchor not in names:
                        yield f"{where}: {target.relative_to(root)} has no heading #{anchor}"


def main() -> int:
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(faults(root))
    for fault in found:
        print(fault)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
