"""The valid values of `--master` and `--conf`. No Spark session is started."""

from __future__ import annotations

import time

import pytest

from spark_reports.errors import ReportError
from spark_reports.spark.master import is_on_this_machine, read_conf
from spark_reports.spark.session import spark_session


@pytest.mark.parametrize(
    ("master", "told"),
    [
        ("loca[2]", "did you mean 'local[2]'?"),
        ("local[two]", "is not a Spark master"),
        ("spark://host", "is not a Spark master"),
        ("http://host:7077", "is not a Spark master"),
        ("", "is not a Spark master"),
    ],
)
def test_what_is_no_master_is_refused(master: str, told: str) -> None:
    with pytest.raises(ReportError, match="--master") as refused, spark_session(master or " "):
        pass
    assert told in str(refused.value)


@pytest.mark.parametrize(("master", "what"), [("spark://127.0.0.1:1", "Spark master"), ("sc://localhost:1/;user_id=me", "Connect server")])
def test_a_master_that_does_not_answer_is_reported_immediately(master: str, what: str) -> None:
    begun = time.monotonic()
    with pytest.raises(ReportError, match=f"no .*{what} answers"), spark_session(master):
        pass
    assert time.monotonic() - begun < 60, "Spark itself tries for minutes"


@pytest.mark.parametrize(
    ("master", "here"),
    [
        ("local", True),
        ("local[4]", True),
        ("local-cluster[2,1,1024]", True),
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077", True),
        ("spark://10.0.0.5:7077", False),
        ("yarn", False),
        ("sc://spark.example:15002", False),
    ],
)
def test_only_what_runs_on_this_machine_stays_on_loopback(master: str, here: bool) -> None:
    assert is_on_this_machine(master) is here


def test_settings_are_read_as_spark_submit_reads_them() -> None:
    assert read_conf(["spark.executor.memory=2g", "spark.executorEnv.X=a=b"]) == {
        "spark.executor.memory": "2g",
        "spark.executorEnv.X": "a=b",
    }
    for wrong in ("spark.executor.memory", "executor.memory=2g", "=x"):
        with pytest.raises(ReportError, match="--conf"):
            read_conf([wrong])


@pytest.mark.spark
def test_a_package_that_is_none_is_one_message() -> None:
    with pytest.raises(ReportError) as refused, spark_session("local[1]", {"spark.jars.packages": "hadoop-aws"}, brief=True):
        pass
    told = str(refused.value)
    assert told.startswith("Spark does not start on local[1]: ")
    assert "groupId:artifactId:version" in told
    assert "\n" not in told
