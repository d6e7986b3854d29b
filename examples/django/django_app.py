"""Django in one file, with tasks that are submitted when the transaction is committed. Run it with `python django_app.py runserver`.

A task that is submitted inside a transaction can run before the row it is about is there, or although that was rolled back. So it is
submitted in `transaction.on_commit`. RUNNER_REDIS_URL says where Redis is; the queue `orders` is declared.
"""

from __future__ import annotations

import sys
import tempfile
from functools import cache, partial
from pathlib import Path
from typing import Any

import django
from django.conf import settings
from django.core.management import execute_from_command_line
from django.db import connection, models, transaction
from django.http import HttpRequest, JsonResponse
from django.urls import path

import runner

FILE = Path(tempfile.gettempdir()) / "django_app.db"
DATABASE = {"ENGINE": "django.db.backends.sqlite3", "NAME": FILE, "TEST": {"NAME": ":memory:"}}
settings.configure(ROOT_URLCONF=__name__, SECRET_KEY="only for this example", ALLOWED_HOSTS=["*"], DATABASES={"default": DATABASE})
django.setup()


class Order(models.Model):
    """Who ordered, and whether it was confirmed."""

    mail = models.CharField(max_length=200)
    confirmed = models.BooleanField(default=False)

    class Meta:
        app_label = "shop"


@cache
def tasks() -> runner.Producer:
    """One for the process: threads share it, and a forked process takes connections of its own."""
    return runner.Producer()


@transaction.atomic
def place(request: HttpRequest) -> JsonResponse:
    """Store the order, and have it confirmed once it is really stored. Its number is the key: a repeated submit makes no second mail."""
    order = Order.objects.create(mail=request.POST["mail"])
    submit = partial(tasks().submit, "order.confirm", {"order": order.pk}, queue="orders", key=f"order {order.pk}")
    transaction.on_commit(submit)
    if "@" not in order.mail:
        transaction.set_rollback(True)
        return JsonResponse({"error": "no address"}, status=400)
    return JsonResponse({"order": order.pk}, status=202)


@runner.task("order.confirm")
def confirm(payload: dict[str, Any]) -> str:
    """Runs in a worker's pod: `handlers: [django_app]`. It may run twice: what it does twice does no harm."""
    order = Order.objects.get(pk=payload["order"])
    order.confirmed = True
    order.save(update_fields=["confirmed"])
    return f"mail to {order.mail}"


urlpatterns = [path("orders", place)]


def make_tables() -> None:
    """In place of migrations, which a project of one file has none of."""
    with connection.schema_editor() as editor:
        editor.create_model(Order)


if __name__ == "__main__":
    if Order._meta.db_table not in connection.introspection.table_names():
        make_tables()
    execute_from_command_line(sys.argv)
