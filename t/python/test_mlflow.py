"""Programs that were written for MLflow's fluent functions."""
import json
import os
import unittest

import gtrack
import gtrack.mlflow as mlflow
from store import Case, folders, param, points, read, status, tag


class Fluent(Case):
    def setUp(self):
        super().setUp()
        mlflow.set_tracking_uri("file://" + os.path.abspath("runs"))
        mlflow.set_experiment("exp")

    def test_run(self):
        """parameters, metrics and tags of a `with` are recorded"""
        with mlflow.start_run(run_name="n", tags={"a": 1},
                              description="why") as run:
            mlflow.log_param("lr", 0.1)
            mlflow.log_params({"on": True, "sizes": [1, 2]})
            mlflow.log_metric("loss", 2.5, step=3)
            mlflow.log_metrics({"loss": 2, "acc": 1}, step=4)
            mlflow.set_tag("k", "v")
        folder = folders("runs")[0]
        self.assertEqual(os.path.basename(folder), run.info.run_id)
        self.assertEqual([param(folder, k) for k in ("lr", "on", "sizes")],
                         ["0.1", "True", "[1,2]"])
        self.assertEqual(points(folder, "loss"), [(3, 2.5), (4, 2)])
        self.assertEqual([tag(folder, k) for k in
                          ("a", "k", "mlflow.note.content")],
                         ["1", "v", "why"])

    def test_nested(self):
        """a nested run knows its parent, and an outer one must end first"""
        with mlflow.start_run() as outer:
            with self.assertRaisesRegex(gtrack.Error, "nested"):
                mlflow.start_run()
            with mlflow.start_run(nested=True) as inner:
                self.assertEqual(mlflow.active_run().info.run_id,
                                 inner.info.run_id)
        self.assertEqual(mlflow.last_active_run().info.run_id,
                         inner.info.run_id)
        folder = [f for f in folders("runs") if inner.info.run_id in f][0]
        self.assertEqual(tag(folder, "mlflow.parentRunId"),
                         outer.info.run_id)

    def test_resume(self):
        """start_run(run_id) resumes a run"""
        with mlflow.start_run() as run:
            mlflow.log_metric("x", 1, step=1)
        with mlflow.start_run(run_id=run.info.run_id):
            mlflow.log_metric("x", 2, step=2)
        self.assertEqual(points(folders("runs")[0], "x"), [(1, 1), (2, 2)])

    def test_status(self):
        """end_run() takes MLflow's words, and an exception is a failure"""
        mlflow.start_run()
        mlflow.end_run("KILLED")
        with self.assertRaises(ZeroDivisionError):
            with mlflow.start_run():
                1 / 0
        os.environ["GTRACK_ROOT"] = "runs"
        self.addCleanup(os.environ.pop, "GTRACK_ROOT")
        self.assertEqual(sorted(map(status, folders("runs"))),
                         ["failed", "killed"])

    def test_artifacts(self):
        """files, texts, dicts, tables and images become artifacts"""
        os.makedirs("d/e")
        for name in ("a.txt", "d/e/b.txt"):
            with open(name, "w") as f:
                f.write(name)
        with mlflow.start_run():
            mlflow.log_artifact("a.txt", "files")
            mlflow.log_artifacts("d")
            mlflow.log_text("hello", "t/hello.txt")
            mlflow.log_dict({"a": [1]}, "d.json")
            mlflow.log_table({"x": [1, 2]}, "t.json")
            mlflow.log_table({"x": [3]}, "t.json")
            mlflow.log_image([[0]], "i.png")
            mlflow.log_image([[0]], key="img", step=2)
            mlflow.log_input("c4", context="training")
            mlflow.flush_async_logging()
            self.assertTrue(mlflow.get_artifact_uri("x").endswith("/x"))
        root = folders("runs")[0] + "/artifacts"
        self.assertEqual(read(root, "files/a.txt"), "a.txt")
        self.assertEqual(read(root, "e/b.txt"), "d/e/b.txt")
        self.assertEqual(read(root, "t/hello.txt"), "hello")
        self.assertEqual(json.loads(read(root, "d.json")), {"a": [1]})
        self.assertEqual(json.loads(read(root, "t.json"))["data"],
                         [[1], [2], [3]])
        self.assertTrue(os.path.exists(root + "/i.png"))
        self.assertEqual(len([name for name in os.listdir(root + "/images")
                              if name.endswith(".png")]), 1)

    def test_refused(self):
        """autolog() and servers are refused with advice"""
        with self.assertRaisesRegex(gtrack.Error, "log_metrics"):
            mlflow.autolog()
        with self.assertRaisesRegex(gtrack.Error, "gtrack push"):
            mlflow.set_tracking_uri("http://127.0.0.1:5000")
        mlflow.set_tracking_uri("runs")
        with self.assertRaisesRegex(AttributeError, "gtrack-python"):
            mlflow.something_else


if __name__ == "__main__":
    unittest.main()
