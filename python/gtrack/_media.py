"""Images, audio, tables, histograms and other things that are no numbers.

Images and tables are stored where MLflow stores those of log_image() and
log_table(), so that its page shows them; see gtrack-python(7).
"""
from __future__ import annotations

import os
import struct
import time

from ._errors import ignore, warn_once
from ._values import plain, to_json


def _as_array(data):
    """What nested lists, arrays and tensors have in common: lists."""
    for name in ("detach", "cpu"):
        if callable(getattr(data, name, None)):
            data = getattr(data, name)()
    return data.tolist() if callable(getattr(data, "tolist", None)) else data


class Media:
    """Something that log() keeps as a file."""

    folder = "media"
    caption: str | None = None
    _path: str | None = None  # a file to copy
    _format: str | None = None

    def _ending(self) -> str:
        if self._path:
            return os.path.splitext(self._path)[1]
        return "." + (self._format or "bin")

    def _take_path(self, data) -> bool:
        """Is the data the path of a file?"""
        if not isinstance(data, (str, os.PathLike)):
            return False
        self._path = os.fspath(data)
        if not os.path.isfile(self._path):
            raise ValueError(f"cannot read {self._path}: there is no such file")
        return True

    def _bytes(self, run) -> bytes:
        if self._path is None:
            raise NotImplementedError
        with open(self._path, "rb") as f:
            return f.read()

    def _keep(self, run, key: str, step: int, number: int | None) -> None:
        name = f"{step}" if number is None else f"{step}-{number}"
        self._write_to(run, f"{self.folder}/{key}/{name}")

    def _write_to(self, run, name: str) -> str:
        """Write the file and its caption, which is there before the file."""
        data = self._bytes(run)
        if self.caption:
            run._write(name + ".txt", str(self.caption).encode())
        return run._write(name + self._ending(), data)


class Image(Media):
    """A picture: the path of a file, a PIL image, a matplotlib figure, or rows
    of pixels of 1, 3 or 4 values, which are from 0 to 255 or, as floats, from 0
    to 1."""

    folder = "images"

    def __init__(self, data_or_path, mode: str | None = None,
                 caption: str | None = None, grouping=None, classes=None,
                 boxes=None, masks=None, file_type: str | None = None,
                 normalize: bool = True) -> None:
        ignore("Image", mode=mode, grouping=grouping, classes=classes,
               file_type=file_type, normalize=not normalize)
        self.caption = caption
        self._format = "png"
        self._data = data_or_path
        self._boxes, self._masks = boxes or {}, masks or {}
        if isinstance(data_or_path, (bytes, bytearray)):  # of a file
            self._format = "jpg" if data_or_path[:2] == b"\xff\xd8" else \
                "gif" if data_or_path[:3] == b"GIF" else "png"
        self._take_path(data_or_path)

    def _bytes(self, run) -> bytes:
        if self._path:
            return super()._bytes(run)
        if isinstance(self._data, (bytes, bytearray)):
            return bytes(self._data)
        if callable(getattr(self._data, "savefig", None)):
            return _saved(self._data.savefig, format="png")
        if callable(getattr(self._data, "save", None)):
            return _saved(self._data.save, format="PNG")
        if callable(getattr(self._data, "write_image", None)):  # plotly
            return self._data.to_image(format="png")
        return png(self._data)

    def _keep(self, run, key: str, step: int, number: int | None) -> None:
        plain_key = "".join(c if c not in "+%#" and c.isprintable() else "_"
                            for c in key)
        if plain_key != key:
            warn_once(f"the images of {key!r} are kept as {plain_key!r}")
            key = plain_key
        self._keep_layers(run, key, step, number)
        name = "images/{}+step+{}+timestamp+{}+{}".format(
            key.replace("/", "~"), step, int(time.time() * 1000),
            _uuid(number))
        small = _webp(self._write_to(run, name))
        if small:
            run._write(name + "+compressed.webp", small)
        run._tag("mlflow.loggedImages", "True")

    def _keep_layers(self, run, key: str, step: int, number: int | None) \
            -> None:
        """Keep masks as images of class numbers, and the rest as JSON."""
        for name, mask in self._masks.items():
            data = mask.get("mask_data")
            if data is not None:
                Image(data)._keep(run, f"{key}/masks/{name}", step, number)
            elif mask.get("path"):
                Image(mask["path"])._keep(run, f"{key}/masks/{name}", step,
                                          number)
        labels = {name: mask.get("class_labels", {})
                  for name, mask in self._masks.items()}
        if labels or self._boxes:
            name = f"{step}" if number is None else f"{step}-{number}"
            run._write(f"boxes/{key}/{name}.json", to_json(
                {"boxes": self._boxes, "masks": labels}).encode())


def _uuid(number: int | None = None) -> str:
    """A UUID; that of an image in a list begins with its number."""
    h = os.urandom(16).hex()
    first = f"f{h[:7]}" if number is None else f"{number:08x}"
    return f"{first}-{h[8:12]}-4{h[13:16]}-a{h[17:20]}-{h[20:]}"


def _saved(save, **how) -> bytes:
    import io

    out = io.BytesIO()
    save(out, **how)
    return out.getvalue()


def _webp(path: str) -> bytes | None:
    """The small copy of an image that MLflow's page shows, where PIL is."""
    try:
        from PIL import Image as pil
    except ImportError:
        return None
    try:
        with pil.open(path) as image:
            image.thumbnail((256, 256))
            return _saved(image.save, format="WEBP")
    except (OSError, ValueError):  # of a kind that PIL does not know
        return None


def _byte(x) -> int:
    x = x * 255 if isinstance(x, float) else x
    return min(max(int(x + 0.5 if isinstance(x, float) else x), 0), 255)


def _grid(batch):
    """A batch of images as one image, with as many rows as columns."""
    import numpy

    if batch.shape[1] in (1, 3, 4) and batch.shape[3] not in (1, 3, 4):
        batch = batch.transpose(0, 2, 3, 1)  # planes, as torch's
    n, height, width, depth = batch.shape
    across = max(int(numpy.ceil(numpy.sqrt(n))), 1)
    down = -(-n // across)
    room = numpy.zeros((across * down, height, width, depth), batch.dtype)
    room[:n] = batch
    return room.reshape(down, across, height, width, depth) \
        .transpose(0, 2, 1, 3, 4).reshape(down * height, across * width, depth)


def _array_rows(data) -> tuple[list, int, int] | None:
    """The lines, the width and the depth of an array or a tensor, by numpy:
    lists of all pixels are slow.  None for what is no array of an image."""
    if callable(getattr(data, "detach", None)):
        data = data.detach().cpu().numpy()
    if type(data).__module__ != "numpy" or data.ndim not in (2, 3, 4):
        return None
    import numpy

    if data.ndim == 4:
        data = _grid(data)
    if data.ndim == 2:
        data = data[:, :, None]
    elif data.shape[0] in (1, 3, 4) and data.shape[2] not in (1, 3, 4):
        data = data.transpose(1, 2, 0)  # planes, as torch's
    if data.dtype.kind == "f":
        data = numpy.nan_to_num(data) * 255 + 0.5
    data = numpy.ascontiguousarray(numpy.clip(data, 0, 255), numpy.uint8)
    return [line.tobytes() for line in data], data.shape[1], data.shape[2]


def _list_rows(rows) -> tuple[list, int, int]:
    """The same for lists."""
    if rows and isinstance(rows[0], (list, tuple)) and rows[0] and \
            isinstance(rows[0][0], (list, tuple)) and \
            len(rows) in (1, 3, 4) and len(rows[0][0]) not in (1, 3, 4):
        rows = [[list(pixel) for pixel in zip(*line)]  # planes, as torch's
                for line in zip(*rows)]
    try:
        lines = [[tuple(map(_byte, p)) if isinstance(p, (list, tuple))
                  else (_byte(p),) for p in row] for row in rows]
        width, depth = len(lines[0]), len(lines[0][0])
    except (TypeError, IndexError):
        raise ValueError("Image() needs a path, an image, or rows of pixels") \
            from None
    if depth not in (1, 3, 4) or not width or any(
            len(line) != width or any(len(p) != depth for p in line)
            for line in lines):
        raise ValueError("all rows of an image have the same number of pixels,"
                         " each of 1, 3 or 4 values")

    return [bytes(x for p in line for x in p) for line in lines], width, depth


def png(data) -> bytes:
    """Rows of pixels as a PNG file."""
    return _png_file(*_pixels(data))


def _pixels(data) -> tuple[tuple, bytes]:
    """The width, height and depth of an image, and its data in a PNG file."""
    import zlib

    lines, width, depth = _array_rows(data) or _list_rows(_as_array(data))
    if depth not in (1, 3, 4) or not width or not lines:
        raise ValueError("an image has pixels of 1, 3 or 4 values")
    return (width, len(lines), depth), \
        zlib.compress(b"".join(b"\0" + line for line in lines))


def _png_file(size: tuple, *frames: bytes, fps: float = 4) -> bytes:
    """A PNG file, which is animated if it has several frames."""
    import zlib

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + \
            struct.pack(">I", zlib.crc32(kind + body))

    width, height, depth = size
    out = [b"\x89PNG\r\n\x1a\n", chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[depth], 0, 0, 0))]
    if len(frames) > 1:
        out.append(chunk(b"acTL", struct.pack(">II", len(frames), 0)))
    count = 0  # of the chunks of an animation
    for i, frame in enumerate(frames):
        if len(frames) > 1:
            out.append(chunk(b"fcTL", struct.pack(
                ">IIIIIHHBB", count, width, height, 0, 0,
                round(1000 / fps), 1000, 0, 0)))
            count += 1
        if i == 0:
            out.append(chunk(b"IDAT", frame))
        else:
            out.append(chunk(b"fdAT", struct.pack(">I", count) + frame))
            count += 1
    return b"".join([*out, chunk(b"IEND", b"")])


class Audio(Media):
    """A sound: the path of a file, or samples from -1 to 1, in one list or in
    a list of one value for each channel."""

    folder = "audio"

    def __init__(self, data_or_path, sample_rate: int | None = None,
                 caption: str | None = None) -> None:
        self.caption, self._data, self._format = caption, data_or_path, "wav"
        if not self._take_path(data_or_path) and not sample_rate:
            raise ValueError("Audio() needs sample_rate for samples")
        self._rate = sample_rate

    def _bytes(self, run) -> bytes:
        if self._path:
            return super()._bytes(run)
        import io
        import wave

        frames = [f if isinstance(f, (list, tuple)) else (f,)
                  for f in _as_array(self._data)]
        if not frames or any(len(f) != len(frames[0]) for f in frames):
            raise ValueError("Audio() needs samples with the same channels")
        values = [x if isinstance(x, int) else
                  int(min(max(x, -1.0), 1.0) * 32767)
                  for f in frames for x in f]
        out = io.BytesIO()
        with wave.open(out, "wb") as w:
            w.setnchannels(len(frames[0]))
            w.setsampwidth(2)
            w.setframerate(int(self._rate))
            w.writeframes(struct.pack(f"<{len(values)}h", *values))
        return out.getvalue()


class Video(Media):
    """A film: the path of a file, the bytes of one, or an array of frames,
    which is kept as an animated PNG."""

    folder = "video"

    def __init__(self, data_or_path, caption: str | None = None,
                 fps: int | None = None, format: str | None = None) -> None:
        self.caption, self._format = caption, format or "mp4"
        self._data = data_or_path
        if callable(getattr(data_or_path, "read", None)):
            self._data = data_or_path.read()
        elif not isinstance(data_or_path, (bytes, bytearray)) and \
                not self._take_path(data_or_path):
            warn_once("gtrack encodes no films: those of arrays are kept as "
                      "animated PNG files")
            self._format = "png"
        self._fps = fps or 4

    def _bytes(self, run) -> bytes:
        if self._path:
            return super()._bytes(run)
        if isinstance(self._data, (bytes, bytearray)):
            return bytes(self._data)
        frames = self._data
        if callable(getattr(frames, "detach", None)):
            frames = frames.detach().cpu().numpy()
        if getattr(frames, "ndim", 4) == 5:  # of several films, the first
            frames = frames[0]
        parts = [_pixels(frame) for frame in frames]
        if not parts or any(size != parts[0][0] for size, _ in parts):
            raise ValueError("the frames of a film have the same size")
        return _png_file(parts[0][0], *(body for _, body in parts),
                         fps=self._fps)


class Html(Media):
    """A page: text, an open file, or the path of a .html file."""

    folder = "html"

    def __init__(self, data, inject: bool = True, data_is_not_path=False) \
            -> None:
        self._format = "html"
        self.html = data.read() if callable(getattr(data, "read", None)) \
            else str(data)
        if not data_is_not_path and self.html.endswith(".html") and \
                "<" not in self.html:
            self._take_path(self.html)

    def _bytes(self, run) -> bytes:
        return super()._bytes(run) if self._path else self.html.encode()


class File(Media):
    """3D objects, molecules and other files, which are kept as they are."""

    folder = "files"

    def __init__(self, data_or_path, caption: str | None = None, **_) -> None:
        self.caption = caption
        self._data = data_or_path
        if callable(getattr(data_or_path, "read", None)):
            self._path, self._data = data_or_path.name, None
        elif not self._take_path(data_or_path):
            self._format = "json"  # points, and what describes them

    def _bytes(self, run) -> bytes:
        return super()._bytes(run) if self._path else \
            to_json(_as_array(self._data)).encode()


class Object3D(File):
    folder = "object3D"


class Molecule(File):
    folder = "molecule"


class Table(Media):
    """Rows and columns, in the JSON that MLflow's log_table() writes."""

    folder = "tables"

    def __init__(self, columns=None, data=None, rows=None, dataframe=None,
                 dtype=None, optional=True, allow_mixed_types=False,
                 log_mode: str | None = None) -> None:
        ignore("Table", dtype=dtype, log_mode=log_mode)
        data = data if data is not None else rows
        if dataframe is None and hasattr(data, "itertuples"):
            dataframe = data
        if dataframe is not None:
            columns = [str(c) for c in dataframe.columns]
            data = [list(r) for r in dataframe.itertuples(index=False)]
        self.data = [list(r) for r in _as_array(data)] if data is not None \
            else []
        if columns is None:
            columns = [f"column {i}" for i in
                       range(len(self.data[0]))] if self.data else \
                ["Input", "Output", "Expected"]
        self.columns = list(columns)
        for row in self.data:
            self._check(row)

    def _check(self, row) -> None:
        if len(row) != len(self.columns):
            raise ValueError(f"the table has {len(self.columns)} columns, and "
                             f"a row has {len(row)}")

    def add_data(self, *row) -> None:
        self._check(row)
        self.data.append(list(row))

    def add_row(self, *row) -> None:
        self.add_data(*row)

    def add_column(self, name: str, data, optional: bool = False) -> None:
        values = list(data)
        if self.data and len(values) != len(self.data):
            raise ValueError(f"the table has {len(self.data)} rows, and the "
                             f"column has {len(values)}")
        self.columns.append(name)
        self.data = [row + [x] for row, x in
                     zip(self.data or [[] for _ in values], values)]

    def get_column(self, name: str, convert_to=None) -> list:
        ignore("get_column", convert_to=convert_to)
        i = self.columns.index(name)
        return [row[i] for row in self.data]

    def iterrows(self):
        yield from enumerate(self.data)

    def get_dataframe(self):
        import pandas

        return pandas.DataFrame(self.data, columns=self.columns)

    def _ending(self) -> str:
        return ".json"

    def _cell(self, value, run):
        """A medium in a table is a file of its own."""
        if not isinstance(value, Media):
            return plain(value)
        name = f"table_images/{_uuid()}"
        path = f"{name}{value._ending()}"
        full = run._write(path, value._bytes(run))
        cell = {"type": type(value).__name__.lower(), "filepath": path}
        small = _webp(full) if isinstance(value, Image) else None
        if small:
            run._write(name + ".webp", small)
            cell["compressed_filepath"] = name + ".webp"
        return cell

    def _bytes(self, run) -> bytes:
        rows = [[self._cell(x, run) for x in row] for row in self.data]
        return to_json({"columns": self.columns, "data": rows}).encode()

    def _keep(self, run, key: str, step: int, number: int | None) -> None:
        name = f"{self.folder}/{key}/{step}"
        name = (name if number is None else f"{name}-{number}") + ".json"
        run._write(name, self._bytes(run))
        note_table(run, name)


def note_table(run, name: str) -> None:
    """List a table where MLflow looks for tables."""
    tables = run.__dict__.setdefault("_tables", [])
    entry = {"path": name, "type": "table"}
    if entry not in tables:
        tables.append(entry)
        run._tag("mlflow.loggedArtifacts", to_json(tables))


class Histogram(Media):
    """How often values fall into bins: numpy's histogram(), or any values.
    The histograms of a key are lines of one file, histograms/KEY.jsonl."""

    MAX_LENGTH = 512

    def __init__(self, sequence=None, np_histogram=None, num_bins: int = 64) \
            -> None:
        if np_histogram is not None:
            counts, edges = np_histogram
            self.histogram = [float(x) for x in _as_array(counts)]
            self.bins = [float(x) for x in _as_array(edges)]
        elif sequence is None:
            raise ValueError("Histogram() needs values or np_histogram")
        else:
            self.histogram, self.bins = count_bins(
                sequence, min(int(num_bins), self.MAX_LENGTH))
        if len(self.bins) != len(self.histogram) + 1:
            raise ValueError("a histogram has one edge more than bins")

    def _bytes(self, run) -> bytes:
        return to_json({"values": self.histogram, "bins": self.bins}).encode()

    def _ending(self) -> str:
        return ".json"

    def _keep(self, run, key: str, step: int, number: int | None) -> None:
        if number is not None:
            key = f"{key}-{number}"
        line = to_json({"step": step, "time": int(time.time() * 1000),
                        "values": self.histogram, "bins": self.bins})
        path = run._artifact(f"histograms/{key}.jsonl")
        with run._below(path) as to:
            fd = os.open(to, os.O_WRONLY | os.O_CREAT | os.O_APPEND |
                         os.O_NOFOLLOW, 0o666)
        try:
            os.write(fd, line.encode() + b"\n")
        finally:
            os.close(fd)


def count_bins(values, n: int) -> tuple[list, list]:
    """Counts and edges of n bins of equal width."""
    if n < 1:
        raise ValueError("num_bins must be 1 or more")
    if callable(getattr(values, "detach", None)):
        values = values.detach().cpu().float().numpy()
    if hasattr(values, "ravel"):
        import numpy

        x = values.ravel()
        found, places = numpy.histogram(x[numpy.isfinite(x)], bins=n)
        return [float(c) for c in found], [float(e) for e in places]
    flat = [float(x) for x in _flat(values)]
    flat = [x for x in flat if x - x == 0]
    low, high = (min(flat), max(flat)) if flat else (0.0, 1.0)
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = (high - low) / n
    counts = [0.0] * n
    for x in flat:
        counts[min(int((x - low) / width), n - 1)] += 1
    return counts, [low + i * width for i in range(n)] + [high]


def _flat(values):
    for v in values:
        if isinstance(v, (list, tuple)):
            yield from _flat(v)
        else:
            yield v


def wrap(value) -> Media | None:
    """What log() and Artifact.add() make of an object of another library."""
    if isinstance(value, Media):
        return value
    if callable(getattr(value, "savefig", None)) or \
            type(value).__module__.startswith(("PIL.", "plotly.")):
        return Image(value)
    if callable(getattr(value, "gcf", None)):  # the module pyplot
        return Image(value.gcf())
    if hasattr(value, "itertuples"):
        return Table(dataframe=value)
    if getattr(value, "shape", None):
        kind = getattr(getattr(value, "dtype", None), "kind", "f")
        if kind in "OSUMm":  # texts, times and objects
            return Table(["value"], [[x] for x in _flat(value.tolist())])
        return Histogram(value)
    return None


def is_media(value) -> bool:
    """Would log() write files for this?  Arrays are values, too."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(isinstance(v, Media) for v in value)
    return not hasattr(value, "tolist") and wrap(value) is not None


def keep(run, key: str, value, step: int) -> None:
    """Keep what log() was given for a key and is no number.  What cannot be
    kept is warned of: it must not end a training."""
    try:
        _keep(run, key, value, step)
    except Exception as e:
        warn_once(f"log() cannot keep {key}: {e or type(e).__name__}")


def _keep(run, key: str, value, step: int) -> None:
    if isinstance(value, (list, tuple)) and is_media(value):
        for i, medium in enumerate(value):
            medium._keep(run, key, step, i)
        return
    medium = wrap(value)
    if medium is not None:
        medium._keep(run, key, step, None)
    elif isinstance(value, (list, tuple)):
        rows = value if all(isinstance(v, (list, tuple)) for v in value) else \
            [[x] for x in value]
        width = max(map(len, rows), default=1)
        Table([str(i) if width > 1 else "value" for i in range(width)],
              [[*row, *[None] * (width - len(row))] for row in rows])._keep(
                  run, key, step, None)
    else:
        warn_once(f"log() keeps no {type(value).__name__}: {key} is ignored")
