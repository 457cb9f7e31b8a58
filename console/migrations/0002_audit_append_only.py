"""The audit record only grows: the database itself refuses changes and deletions."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

TABLE = "console_auditentry"
SENTENCE = "audit entries cannot be changed or deleted"

SQLITE = [
    f"CREATE TRIGGER {TABLE}_no_{verb} BEFORE {verb} ON {TABLE} "
    f"BEGIN SELECT RAISE(ABORT, '{SENTENCE}'); END"
    for verb in ("UPDATE", "DELETE")
]
POSTGRESQL = [
    f"CREATE FUNCTION {TABLE}_refuse() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{SENTENCE}'; END $$",
    f"CREATE TRIGGER {TABLE}_append_only BEFORE UPDATE OR DELETE ON {TABLE} "
    f"FOR EACH ROW EXECUTE FUNCTION {TABLE}_refuse()",
]
UNDO_SQLITE = [f"DROP TRIGGER {TABLE}_no_{verb}" for verb in ("UPDATE", "DELETE")]
UNDO_POSTGRESQL = [
    f"DROP TRIGGER {TABLE}_append_only ON {TABLE}",
    f"DROP FUNCTION {TABLE}_refuse()",
]


def forwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    run(editor, SQLITE, POSTGRESQL)


def backwards(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    run(editor, UNDO_SQLITE, UNDO_POSTGRESQL)


def run(
    editor: BaseDatabaseSchemaEditor, sqlite: list[str], postgresql: list[str]
) -> None:
    statements = {"sqlite": sqlite, "postgresql": postgresql}
    for statement in statements[editor.connection.vendor]:
        editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("console", "0001_initial")]
    operations = [migrations.RunPython(forwards, backwards)]
