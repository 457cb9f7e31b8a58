from __future__ import annotations

import io
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from console.models import Revision, User
from scoring import neutral
from scoring.models import Cluster
from tests.console.documents import DOCUMENT


def run(name: str, *args: str, **options: Any) -> str:
    out = io.StringIO()
    call_command(name, *args, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


def refusal(name: str, *args: str, **options: Any) -> CommandError:
    with pytest.raises(CommandError) as refused:
        run(name, *args, **options)
    return refused.value


@pytest.fixture
def started(db: None, settings: Any, tmp_path: Path) -> Path:
    """What `bootstrap` leaves; returns the file with the password."""
    settings.EXTENDER_KEY = "k/e y"
    settings.DATA_DIR = tmp_path
    path = tmp_path / "password"
    run("bootstrap", password_file=path)
    return path


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "scheduler.yaml"
    path.write_text(DOCUMENT)
    return path


class TestBootstrap:
    def test_makes_cluster_configuration_and_admin(self, started: Path) -> None:
        assert Cluster.objects.get().name == "default"
        assert Revision.objects.get().number == 1
        admin = User.objects.get()
        assert admin.must_change_password
        assert admin.check_password(started.read_text().strip())
        assert stat.S_IMODE(started.stat().st_mode) == 0o600

    def test_again_changes_nothing_and_tells_no_password(
        self, started: Path, tmp_path: Path
    ) -> None:
        second = tmp_path / "second"
        assert run("bootstrap", password_file=second) == ""
        assert not second.exists()
        assert Revision.objects.count() == User.objects.count() == 1

    def test_simulated_cluster_gets_its_document(
        self, db: None, settings: Any, tmp_path: Path
    ) -> None:
        settings.EXTENDER_KEY, settings.SIMULATED = "k/e y", True
        settings.DATA_DIR = tmp_path
        run("bootstrap", print_password=True)
        path = tmp_path / "simulator" / "stock.yaml"
        assert "bandmaster:k%2Fe%20y@" in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_unreadable_password_file(self, db: None, settings: Any) -> None:
        settings.ADMIN_PASSWORD_FILE = "/nonexistent/password"
        error = refusal("bootstrap", print_password=True)
        assert "BANDMASTER_ADMIN_PASSWORD_FILE" in str(error)
        assert error.returncode == 2

    def test_a_password_that_cannot_be_told_makes_no_admin(
        self, db: None, settings: Any, tmp_path: Path
    ) -> None:
        settings.EXTENDER_KEY, settings.DATA_DIR = "k", tmp_path
        error = refusal("bootstrap", password_file=tmp_path / "none" / "password")
        assert "cannot be written" in str(error)
        assert error.returncode == 2
        assert not User.objects.exists()


class TestPublish:
    def publish(self, file: Path, **changes: Any) -> str:
        options = {"configuration": "main", "author": "admin", "message": "why"}
        return run("publish_configuration", str(file), **(options | changes))

    def test_next_revision(self, started: Path, document: Path) -> None:
        assert "r2" in self.publish(document)
        assert run("export_configuration", "main") == DOCUMENT
        assert "NetworkTraffic" in run("export_configuration", "main", revision=1)

    def test_bad_document_says_line_and_column(
        self, started: Path, document: Path
    ) -> None:
        document.write_text(DOCUMENT.replace("weight: 5", "wieght: 5"))
        with pytest.raises(CommandError, match=r"line 10, column \d+: error:") as error:
            self.publish(document)
        assert error.value.returncode == 1
        assert Revision.objects.count() == 1

    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"author": "nobody"}, "no active user"),
            ({"cluster": "other"}, "no cluster"),
        ],
    )
    def test_unknown_names(
        self, started: Path, document: Path, changes: dict[str, str], words: str
    ) -> None:
        with pytest.raises(CommandError, match=words) as error:
            self.publish(document, **changes)
        assert error.value.returncode == 2

    def test_no_file_and_not_text(self, started: Path, tmp_path: Path) -> None:
        with pytest.raises(CommandError, match="cannot be read"):
            self.publish(tmp_path / "missing.yaml")
        binary = tmp_path / "binary"
        binary.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(CommandError, match="not UTF-8"):
            self.publish(binary)

    def test_import_refuses_a_name_in_use(self, started: Path, document: Path) -> None:
        error = refusal(
            "import_configuration", str(document), configuration="main", author="admin"
        )
        assert "already has a configuration" in str(error)
        done = run(
            "import_configuration", str(document), configuration="two", author="admin"
        )
        assert "r1" in done


class TestCompile:
    def test_the_key_is_filled_in_on_demand_only(self, started: Path) -> None:
        plain = run("compile_configuration")
        assert "k%2Fe%20y" not in plain
        assert "extenders" in plain
        assert "bandmaster:k%2Fe%20y@" in run("compile_configuration", with_key=True)

    def test_a_file_without_a_database(self, document: Path) -> None:
        out = run(
            "compile_configuration", str(document), extender_url="http://10.0.0.5:8001"
        )
        assert "10.0.0.5:8001/extender/default" in out
        assert "NetworkTraffic" not in out

    def test_a_file_needs_the_address(self, document: Path) -> None:
        error = refusal("compile_configuration", str(document))
        assert "--extender-url" in str(error)
        assert error.returncode == 2

    def test_json(self, document: Path) -> None:
        out = run(
            "compile_configuration",
            str(document),
            extender_url="http://10.0.0.5:8001",
            format="json",
        )
        assert '"policies"' in out


class TestNeutral:
    def test_on_needs_a_reason(self, started: Path) -> None:
        assert refusal("neutral", "on").returncode == 2

    def test_on_and_off(self, started: Path) -> None:
        run("neutral", "on", reason="maintenance")
        assert Cluster.objects.get().neutral_reason == "maintenance"
        run("neutral", "off")
        assert not Cluster.objects.get().neutral

    def test_off_removes_the_file_too(self, started: Path, settings: Any) -> None:
        neutral.write_neutral_file(settings.DATA_DIR, "left behind")
        run("neutral", "off")
        assert neutral.file_reason(settings.DATA_DIR) is None


def test_reset_admin_password(started: Path) -> None:
    password = run("reset_admin_password").strip()
    assert User.objects.get().check_password(password)
    assert "no active user" in str(refusal("reset_admin_password", "nobody"))


class TestWords:
    def test_a_problem_of_the_whole_text_has_no_empty_path(self, started: Path) -> None:
        empty = started.with_name("empty.yaml")
        empty.write_text("")
        error = refusal("compile_configuration", str(empty), extender_url="http://a:1")
        assert "error: the document is empty" in str(error)

    def test_a_model_s_refusal_names_its_field(
        self, started: Path, document: Path
    ) -> None:
        args = ("--configuration", "main", "--as", "admin", "--message", "m" * 501)
        error = refusal("publish_configuration", str(document), *args)
        assert str(error).startswith("message: ")

    def test_half_a_pair_is_refused(self, started: Path, document: Path) -> None:
        error = refusal(
            "compile_configuration",
            str(document),
            "--extender-url=http://a:1",
            "--run-by-bandmaster=nonsense",
        )
        assert "'nonsense' is not PROFILE/PLUGIN" in str(error)
