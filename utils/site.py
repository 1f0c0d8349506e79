#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the documentation a site: HTML that needs no network.

usage: site.py SOURCE-DIR BUILD-DIR OUTPUT-DIR

Of the README, docs/ with its examples, the pages on dialects and passes that TableGen
wrote to BUILD-DIR/docs, and the man pages in BUILD-DIR/share/man. What pages link to
in the sources is copied. MkDocs makes the HTML; it, and this, fail if a link leads
nowhere. Needs mkdocs and groff in PATH.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
START = "README GettingStarted Tutorial Install Machines Plan Python Report Cluster"


def title_of(page):
    match = re.search(r"^# (.+)$", page.read_text(), flags=re.M)
    return match[1].replace("`", "") if match else page.stem


def man_page(file):
    """A man page as Markdown."""
    command = ["groff", "-man", "-rHY=0", "-Tascii", "-P-c", "-P-b", "-P-o", "-P-u", str(file)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    name = file.stem.replace("sccl-", "sccl ")
    return f"# {name}\n\n```text\n{text.strip()}\n```\n"


class Site:
    def __init__(self, source, build, pages):
        self.source, self.build, self.pages = source, build, pages
        self.origins = {}  # by page, the file that it is made of
        self.places = {}  # by file of the sources, its place on the site

    def collect(self):
        docs = self.source / "docs"
        self.take(self.source / "README.md", "index.md")
        for file in sorted(docs.rglob("*")):
            if file.is_file() and file.suffix in {".md", ".png", ".svg", ".c", ".py"}:
                self.take(file, pathlib.Path("docs") / file.relative_to(docs))
        for file in sorted((self.build / "docs").rglob("*.md")):
            self.take(
                file, pathlib.Path("generated") / file.relative_to(self.build / "docs")
            )
        for file in sorted((self.build / "share/man").glob("*.1")):
            page = self.pages / "commands" / f"{file.stem}.md"
            page.parent.mkdir(exist_ok=True)
            page.write_text(man_page(file))

    def take(self, file, place):
        page = self.pages / place
        page.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, page)
        self.origins[page] = file
        self.places[file] = page

    def bring(self, target):
        """The place of a file of the sources that a page links to."""
        if target not in self.places and target.is_file():
            place = target.relative_to(self.source)
            self.take(target, f"sources/{place}.txt")
        return self.places.get(target)

    def adapt(self, page, text):
        """Links of the sources become those of the site."""

        def replaced(match):
            words, target, anchor = match.groups()
            if re.match(r"\w+:", target):
                return match[0]
            file = (self.origins[page].parent / target).resolve()
            place = self.bring(file)
            if place:
                return f"[{words}]({os.path.relpath(place, page.parent)}{anchor or ''})"
            if file.is_dir():
                return f"{words} (`{file.relative_to(self.source)}`)"
            raise SystemExit(f"{self.origins[page]}: {target} does not exist")

        return LINK.sub(replaced, text)

    def adapt_all(self):
        for page in [p for p in self.origins if p.suffix == ".md"]:
            page.write_text(self.adapt(page, page.read_text()))

    def navigation(self):
        def entries(pattern):
            return [
                {title_of(page): str(page.relative_to(self.pages))}
                for page in sorted(self.pages.glob(pattern))
            ]

        docs = entries("docs/*.md")
        first = [f"docs/{name}.md" for name in START.split()]

        def isFirst(entry):
            return next(iter(entry.values())) in first

        ordered = sorted(
            filter(isFirst, docs), key=lambda entry: first.index(*entry.values())
        )
        return [
            {"sccl": "index.md"},
            {"Use": ordered},
            {"Reference": [entry for entry in docs if not isFirst(entry)]},
            {"Commands": entries("commands/*.md")},
            {"Dialects and passes": entries("generated/**/*.md")},
            {"Rationale": entries("docs/Rationale/*.md")},
        ]


def main():
    source, build, output = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
    with tempfile.TemporaryDirectory() as work:
        pages = pathlib.Path(work) / "pages"
        site = Site(source, build, pages)
        site.collect()
        site.adapt_all()
        settings = {
            "site_name": "sccl",
            "docs_dir": str(pages),
            "site_dir": str(output),
            "use_directory_urls": False,
            "theme": {"name": "mkdocs", "highlightjs": False},
            "nav": site.navigation(),
            "strict": True,
        }
        config = pathlib.Path(work) / "mkdocs.yml"
        config.write_text(json.dumps(settings))  # which is YAML, too
        command = ["mkdocs", "build", "--quiet", "--clean", "-f", str(config)]
        subprocess.run(command, check=True)
    print(f"{sum(1 for _ in output.rglob('*.html'))} pages in {output}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    main()
