"""Compares decoded icons with Pillow and ImageMagick, file by file.

    compare_icons.py ICONS DECODED [WORST]

ICONS contains icons in directories by format, and DECODED contains the output of `icons_sheet ICONS
DECODED decoded`. Prints a table by format. For each other program it shows how many icons both
decode to the same width and height, how many of those are equal or nearly equal, and the mean
difference of premultiplied channels in levels out of 255. Then prints the WORST differences, and
rejected files that another program decodes.
"""

import collections
import pathlib
import subprocess
import sys
import warnings

import numpy
from PIL import Image

warnings.simplefilter("ignore")
NEAR = 1.0


def premultiplied(rgba):
    values = numpy.asarray(rgba, dtype=numpy.float64)
    return numpy.concatenate([values[..., :3] * values[..., 3:] / 255, values[..., 3:]], axis=2)


def by_pillow(path, sides):
    try:
        with Image.open(path) as image:
            if hasattr(image, "ico"):
                sizes = image.ico.sizes()
                if sides in sizes:
                    image.size = sides
            image.load()
            if image.mode == "I;16":
                return None
            return image.convert("RGBA")
    except Exception:
        return None


def by_magick(path, sides):
    kind = path.parent.name
    if kind not in ("bmp", "gif", "ico", "jpeg", "png", "webp"):
        return None
    first = f"{kind}:{path}" + ("" if kind == "ico" else "[0]")
    limits = ["-limit", "memory", "512MiB", "-limit", "time", "20"]
    command = ["convert-im6.q16", *limits, first, "-coalesce", "-depth", "8", "-colorspace", "sRGB"]
    try:
        done = subprocess.run(
            [*command, "png32:-"], capture_output=True, timeout=30, check=False
        ) if kind != "ico" else subprocess.run(
            [*command, "+adjoin", "-format", "%w %h\n", "-write", "info:", "rgba:-"],
            capture_output=True, timeout=30, check=False,
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0 and not done.stdout:
        return None
    try:
        if kind == "ico":
            return icon_entry(done.stdout, sides)
        import io
        return Image.open(io.BytesIO(done.stdout)).convert("RGBA")
    except Exception:
        return None


def icon_entry(output, sides):
    frames = []
    while output[:1].isdigit() and b"\n" in output[:16]:
        line, _, rest = output.partition(b"\n")
        words = line.split()
        if len(words) != 2:
            break
        frames.append((int(words[0]), int(words[1])))
        output = rest
    for width, height in frames:
        pixels, output = output[: width * height * 4], output[width * height * 4 :]
        if (width, height) == sides:
            return Image.frombytes("RGBA", sides, pixels)
    return None


def main():
    icons, decoded = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    worst_count = int(sys.argv[3]) if len(sys.argv) > 3 else 15
    refused = dict(
        line.split("\t", 1) for line in (decoded / "refused.tsv").read_text().splitlines()
    )
    others = {"Pillow": by_pillow, "ImageMagick": by_magick}
    rows = collections.defaultdict(lambda: collections.Counter())
    differences = collections.defaultdict(list)
    ours_alone, theirs_alone = collections.Counter(), []
    for path in sorted(path for path in icons.glob("*/*")):
        name, kind = str(path.relative_to(icons)), path.parent.name
        rows[kind]["files"] += 1
        if name in refused:
            rows[kind]["refused"] += 1
            if by_pillow(path, None) is not None:
                theirs_alone.append(f"{name}: {refused[name]}")
            continue
        rows[kind]["decoded"] += 1
        ours = Image.open(decoded / f"{name}.png").convert("RGBA")
        for other, decode in others.items():
            theirs = decode(path, ours.size)
            if theirs is None or theirs.size != ours.size:
                ours_alone[kind, other] += 1
                continue
            difference = numpy.abs(premultiplied(ours) - premultiplied(theirs)).mean()
            differences[kind, other].append((difference, name))
    print("format  files decoded refused | " + " | ".join(
        f"{other}: both  equal   near   mean" for other in others))
    for kind, row in sorted(rows.items()):
        cells = []
        for other in others:
            found = [difference for difference, _ in differences[kind, other]]
            equal = sum(difference == 0 for difference in found)
            near = sum(difference <= NEAR for difference in found)
            mean = sum(found) / len(found) if found else 0
            cells.append(f"{len(other) * ' '} {len(found):5} {equal:6} {near:6} {mean:6.3f}")
        print(f"{kind:7} {row['files']:5} {row['decoded']:7} {row['refused']:7} | "
              + " | ".join(cells))
    for other in others:
        found = [pair for (_, which), pairs in differences.items() if which == other
                 for pair in pairs]
        print(f"\nfurthest from {other}:")
        for difference, name in sorted(found, reverse=True)[:worst_count]:
            print(f"  {difference:7.2f}  {name}")
    print(f"\nrefused here, decoded by Pillow: {len(theirs_alone)}")
    for line in theirs_alone:
        print(f"  {line}")


main()
