"""Images, audio, tables, histograms and files, and where they are stored."""
import contextlib
import io
import json
import os
import re
import struct
import subprocess
import sys
import unittest
import wave
import zlib

import gtrack
from store import Case, folders, points, read, tag


def artifacts(run):
    """The paths of a run's artifacts, without the small copies of images that
    are made where PIL is."""
    root = os.path.join(run._folder, "artifacts")
    return sorted(os.path.relpath(os.path.join(folder, file), root)
                  for folder, _, files in os.walk(root) for file in files
                  if not file.endswith(".webp"))


def pixels(data):
    """The size, the kind of colour and the bytes of a PNG file."""
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    at, body, head = 8, b"", ()
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n:at + 12 + n])[0] == \
            zlib.crc32(kind + part)
        if kind == b"IHDR":
            head = struct.unpack(">IIBB", part[:10])
        elif kind == b"IDAT":
            body += part
        at += 12 + n
    return head[0], head[1], head[3], zlib.decompress(body)


class Media(Case):
    def test_image(self):
        """an image is a PNG file where MLflow looks for images"""
        run = self.begin()
        run.log({"val/sample": gtrack.Image([[0, 255], [128, 1]])}, step=5)
        run.finish()
        name = artifacts(run)[0]
        self.assertRegex(name, r"^images/val~sample\+step\+5\+timestamp\+"
                         r"\d+\+[-0-9a-f]{36}\.png$")
        with open(run._folder + "/artifacts/" + name, "rb") as f:
            self.assertEqual(pixels(f.read()),
                             (2, 2, 0, b"\0\x00\xff\0\x80\x01"))
        self.assertEqual(tag(run._folder, "mlflow.loggedImages"), "True")

    def test_summary(self):
        """images and tables of the summary are kept as those of log()"""
        run = self.begin()
        run.log({"loss": 1}, step=3)
        with contextlib.redirect_stderr(io.StringIO()) as err:
            for _ in range(2):
                run.summary["best"] = gtrack.Image([[1]])
                run.summary.update({"n": [gtrack.Image([[2]])] * 2,
                                    "t": gtrack.Table(["a"], [[1]])})
        self.assertIsInstance(run.summary["best"], gtrack.Image)
        run.summary["list"] = [1, 2]
        run.finish()
        names = [re.sub(r"\+timestamp.*", "", a) for a in artifacts(run)]
        self.assertEqual(names, ["images/best+step+3"] * 2 +
                         ["images/n+step+3"] * 4 + ["tables/t/3.json"])
        self.assertEqual([t for t in os.listdir(run._folder + "/tags")
                          if t.startswith("summary.")], ["summary.list"])
        self.assertEqual(err.getvalue().count("summary.best is kept as"), 1)

    def test_colours(self):
        """floats are from 0 to 1, and planes of colour are accepted"""
        from gtrack import _media

        self.assertEqual(pixels(_media.png([[[0.0, 0.5, 1.0]]])),
                         (1, 1, 2, b"\0\x00\x80\xff"))
        planes = [[[1, 2], [3, 4]], [[5, 6], [7, 8]], [[9, 10], [11, 12]]]
        self.assertEqual(pixels(_media.png(planes)),
                         (2, 2, 2, b"\0\1\5\t\2\6\n\0\3\7\x0b\4\10\x0c"))

    def test_bad_image(self):
        """what cannot be kept is warned of and does not end a program"""
        run = self.begin()
        with contextlib.redirect_stderr(io.StringIO()) as err:
            run.log({"i": gtrack.Image([[1, 2], [3]]), "x": 1,
                     "v": gtrack.Video([[[1]], [[1, 2]]])})
        run.finish()
        self.assertIn("cannot keep i: all rows of an image", err.getvalue())
        self.assertIn("cannot keep v: the frames", err.getvalue())
        self.assertEqual(points(run._folder, "x"), [(0, 1)])
        with self.assertRaisesRegex(ValueError, "no such file"):
            gtrack.Image("nothing.png")

    def test_odd_names(self):
        """an image of any name is kept"""
        run = self.begin()
        run.log({"a+b%c#d\n": gtrack.Image([[1]])})
        run.finish()
        self.assertIn("images/a_b_c_d_+step+0", artifacts(run)[0])

    def test_layers(self):
        """masks and boxes of an image are kept"""
        run = self.begin()
        box = {"position": {"minX": 0}, "class_id": 1}
        run.log({"i": gtrack.Image(
            [[1]], masks={"truth": {"mask_data": [[2]],
                                    "class_labels": {2: "cat"}}},
            boxes={"found": {"box_data": [box]}})})
        run.finish()
        self.assertEqual([name.split("+")[0] for name in artifacts(run)], [
            "boxes/i/0.json", "images/i", "images/i~masks~truth"])
        self.assertEqual(json.loads(read(run._folder,
                                         "artifacts/boxes/i/0.json")),
                         {"boxes": {"found": {"box_data": [box]}},
                          "masks": {"truth": {"2": "cat"}}})

    def test_list(self):
        """the files of a list of images have numbers"""
        run = self.begin()
        run.log({"i": [gtrack.Image([[1]]), gtrack.Image([[2]])]})
        run.finish()
        self.assertEqual([re.sub(r".*[+](\w+)-.*", r"\1", name)
                          for name in artifacts(run)],
                         ["00000000", "00000001"])

    def test_captions(self):
        """a caption is in a text file beside its picture or sound"""
        run = self.begin()
        run.log({"i": gtrack.Image([[1]], caption="a dot"),
                 "a": gtrack.Audio([0.0], sample_rate=8000, caption="tick")})
        run.finish()
        text, sound, picture, caption = [
            run._folder + "/artifacts/" + name
            for name in sorted(artifacts(run), key=os.path.splitext)]
        self.assertEqual((read(text), sound[-6:]), ("tick", "/0.wav"))
        self.assertEqual((read(caption), picture), (
            "a dot", os.path.splitext(caption)[0] + ".png"))

    def test_audio(self):
        """samples become a WAV file"""
        run = self.begin()
        run.log({"a": gtrack.Audio([0.0, 1.0, -1.0], sample_rate=8000)})
        run.finish()
        with wave.open(run._folder + "/artifacts/audio/a/0.wav") as w:
            self.assertEqual((w.getframerate(), w.getnchannels()), (8000, 1))
            self.assertEqual(struct.unpack("<3h", w.readframes(9)),
                             (0, 32767, -32767))

    def test_html_and_video(self):
        """a page and a film are kept as they are"""
        run = self.begin()
        run.log({"h": gtrack.Html("<p>hi"),
                 "v": gtrack.Video(b"film", format="webm")})
        run.finish()
        self.assertEqual(artifacts(run), ["html/h/0.html", "video/v/0.webm"])

    def test_film_of_arrays(self):
        """frames become an animated PNG, and points JSON"""
        run = self.begin()
        run.log({"v": gtrack.Video([[[1, 2]], [[3, 4]], [[5, 6]]], fps=10),
                 "o": gtrack.Object3D([[0, 1, 2]])})
        run.finish()
        with open(run._folder + "/artifacts/video/v/0.png", "rb") as f:
            data = f.read()
        self.assertEqual(pixels(data), (2, 1, 0, b"\0\1\2"))
        self.assertEqual([data.count(k) for k in (b"acTL", b"fcTL", b"fdAT")],
                         [1, 3, 2])
        self.assertEqual(read(run._folder, "artifacts/object3D/o/0.json"),
                         "[[0, 1, 2]]")

    def test_table(self):
        """a table is JSON as MLflow's, and MLflow is told where it is"""
        table = gtrack.Table(columns=["text", "score"])
        table.add_data("good", 1.5)
        table.add_data("bad", None)
        run = self.begin()
        run.log({"val/preds": table}, step=3)
        run.finish()
        name = "tables/val/preds/3.json"
        self.assertEqual(json.loads(read(run._folder, "artifacts", name)),
                         {"columns": ["text", "score"],
                          "data": [["good", 1.5], ["bad", None]]})
        self.assertEqual(
            json.loads(tag(run._folder, "mlflow.loggedArtifacts")),
            [{"path": name, "type": "table"}])
        with self.assertRaisesRegex(ValueError, "2 columns"):
            table.add_data(1)

    def test_lists(self):
        """a list is kept as a table"""
        run = self.begin()
        run.log({"l": [1, 2.5, "x"]})
        run.log({"rows": [[1, 2], (3,)]})
        run.finish()
        for name, want in (("l/0", [[1], [2.5], ["x"]]),
                           ("rows/1", [[1, 2], [3, None]])):
            table = json.loads(
                read(run._folder, f"artifacts/tables/{name}.json"))
            self.assertEqual(table["data"], want)

    def test_image_in_table(self):
        """an image in a table is a file that the table names"""
        run = self.begin()
        run.log({"t": gtrack.Table(["i"], [[gtrack.Image([[1]])]])})
        run.finish()
        table = json.loads(read(run._folder, "artifacts/tables/t/0.json"))
        cell = table["data"][0][0]
        self.assertEqual(cell["type"], "image")
        self.assertIn(cell["filepath"], artifacts(run))

    def test_histogram(self):
        """histograms of a key are lines of one file"""
        run = self.begin()
        run.log({"w": gtrack.Histogram([0, 1, 1, 2], num_bins=2)})
        run.log({"w": gtrack.Histogram(np_histogram=([3, 4], [0, 1, 2]))})
        run.finish()
        lines = [json.loads(line) for line in
                 read(run._folder, "artifacts/histograms/w.jsonl")
                 .splitlines()]
        self.assertEqual([(x["step"], x["values"], x["bins"])
                          for x in lines],
                         [(0, [1, 3], [0, 1, 2]), (1, [3, 4], [0, 1, 2])])
        with self.assertRaises(ValueError):
            gtrack.Histogram(np_histogram=([1], [1]))

    def test_left_out(self):
        """what cannot be kept is warned of once"""
        run = self.begin()
        with contextlib.redirect_stderr(io.StringIO()) as err:
            run.log({"odd": object(), "x": 1})
            run.log({"odd": object(), "x": 1})
        run.finish()
        self.assertEqual(err.getvalue().count("odd is ignored"), 1)
        self.assertEqual(len(points(run._folder, "x")), 2)


class Files(Case):
    def test_save(self):
        """save() copies files, and again when the run ends"""
        with open("notes.txt", "w") as f:
            f.write("one")
        run = self.begin()
        run.save("*.txt")
        with open("notes.txt", "w") as f:
            f.write("two")
        self.assertEqual(read(run._folder, "artifacts/notes.txt"), "one")
        run.finish()
        self.assertEqual(read(run._folder, "artifacts/notes.txt"), "two")
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(self.begin().save("missing.txt"), [])
        self.assertIn("no such file", err.getvalue())

    def test_artifact(self):
        """an Artifact copies its files to a folder of its version"""
        os.mkdir("d")
        for name in ("a", "d/b"):
            with open(name, "w") as f:
                f.write(name)
        run = self.begin()
        artifact = gtrack.Artifact("model", "model", metadata={"k": 1})
        artifact.add_file("a")
        artifact.add_dir("d", name="sub")
        with artifact.new_file("c.txt") as f:
            f.write("c")
        run.log_artifact(artifact).wait()
        run.log_artifact("a", name="plain")
        run.finish()
        self.assertEqual(artifacts(run), ["versions/" + name for name in (
            "model/v0.json", "model/v0/a", "model/v0/c.txt",
            "model/v0/sub/b", "plain/v0.json", "plain/v0/a")])

    def log_model(self, run, epoch, aliases):
        with open("same", "w") as f:
            f.write("unchanged")
        with open("weights", "w") as f:
            f.write(f"epoch {epoch}")
        artifact = gtrack.Artifact("model", "model", metadata={"e": epoch})
        artifact.add_file("weights")
        artifact.add_file("same")
        return run.log_artifact(artifact, aliases=aliases)

    def test_versions(self):
        """artifacts of one name are versions, through all runs"""
        first = self.begin()
        names = [self.log_model(first, e, ["best", f"e{e}"]).name
                 for e in range(2)]
        first.finish()
        run = self.begin()
        names += [self.log_model(run, 2, []).name,
                  self.log_model(run, 2, "last").name]
        self.assertEqual(names,
                         ["model:v0", "model:v1", "model:v2", "model:v2"])
        for word, epoch in (("e0", 0), ("best", 1), ("v2", 2), ("latest", 2),
                            ("last", 2)):
            artifact = run.use_artifact(f"model:{word}", type="model")
            self.assertEqual(artifact.metadata, {"e": epoch})
            folder = artifact.download()
            self.assertEqual(folder, f"artifacts/model:v{epoch}")
            self.assertEqual(read(folder, "weights"), f"epoch {epoch}")
            artifact.verify()
        self.assertEqual(gtrack.Api().artifact("me/p/model:e0").aliases,
                         ["e0"])
        self.assertEqual(len(os.listdir(run._folder + "/inputs")), 3)
        same = os.stat(artifact._folder + "/same")
        self.assertEqual((same.st_nlink, os.stat(folder + "/same").st_nlink),
                         (3, 1))
        with self.assertRaisesRegex(gtrack.Error, "are v0, v1, v2"):
            run.use_artifact("model:v7")
        with self.assertRaisesRegex(gtrack.Error, "none has this name"):
            run.use_artifact("modell")
        run.use_artifact("model:e0").delete(delete_aliases=True)
        with self.assertRaises(gtrack.Error):
            run.use_artifact("model:e0")

    def test_many_versions(self):
        """processes that log one artifact at once get numbers of their own"""
        text = ("import gtrack\nrun = gtrack.init(project='p', capture=False)\n"
                "for i in range(4):\n"
                "    a = gtrack.Artifact('a', 'a')\n"
                "    with a.new_file('f') as f: f.write(f'{run.id} {i}')\n"
                "    run.log_artifact(a)\n")
        with open("program.py", "w") as f:
            f.write(text)
        programs = [subprocess.Popen([sys.executable, "program.py"])
                    for _ in range(4)]
        self.assertEqual([p.wait() for p in programs], [0] * 4)
        found = [name for folder in folders()
                 for name in os.listdir(folder + "/artifacts/versions/a")
                 if name.endswith(".json")]
        self.assertEqual(sorted(found), sorted(f"v{i}.json"
                                               for i in range(16)))

    def test_save_and_artifact(self):
        """one file may be saved and be an artifact, in either order"""
        run = self.begin()
        for name in ("a.yml", "b.yml"):
            with open(name, "w") as f:
                f.write("x: 1")
        run.save("a.yml")
        run.log_artifact("a.yml")
        run.log_artifact("b.yml")
        run.save("b.yml")
        run.finish()
        self.assertEqual([n for n in artifacts(run) if n.endswith(".yml")], [
            "a.yml", "b.yml", "versions/a.yml/v0/a.yml",
            "versions/b.yml/v0/b.yml"])

    def test_outside(self):
        """the name of an artifact cannot lead out of the run"""
        run = self.begin()
        path = run._artifact("../../../x/./y")
        self.assertEqual(path, run._folder + "/artifacts/x/y")

    def test_links(self):
        """nothing is written through links that leave a run"""
        run = self.begin(id="linked", resume="allow")
        run.finish()
        os.mkdir("victim")
        for name in ("images", "tables", "versions", "histograms", "code"):
            os.symlink(os.path.abspath("victim"),
                       f"{run._folder}/artifacts/{name}")
        with open("rc", "w") as f:
            f.write("mine")
        run = self.begin(id="linked", resume="must")
        for write in (
                lambda: run.save("rc", "."),
                lambda: run._copy("rc", "code/rc"),
                lambda: run._write("images/rc", b"x"),
                lambda: run.log({"h": gtrack.Histogram([1, 2])}),
                lambda: run.log({"t": gtrack.Table(["a"], [[1]])}),
                lambda: run.log_artifact("rc")):
            try:
                write()
            except gtrack.Error as e:
                self.assertIn("is a link that leaves", str(e))
        os.rename(run._folder + "/artifacts", run._folder + "/kept")
        os.symlink(os.path.abspath("victim"), run._folder + "/artifacts")
        for write in (lambda: run.dir, lambda: run.save("rc")):
            with self.assertRaisesRegex(gtrack.Error, "link that leaves"):
                write()
        run.finish()
        self.assertEqual(os.listdir("victim"), [])


if __name__ == "__main__":
    unittest.main()
