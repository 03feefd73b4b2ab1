"""Purges what shows an object, whoever saves it: a view, the administration, a command, a shell."""

import json
import urllib.request

from django.apps import AppConfig, apps
from django.conf import settings
from django.db import transaction
from django.db.models.signals import post_delete, post_save

from larder import tags_of


def purge(tags):
    """Tells Larder. When this returns, nobody gets one of these pages as it was."""
    content = json.dumps({"tags": sorted(tags)}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(settings.LARDER_ADMIN + "/purge", content, headers)
    urllib.request.urlopen(request, timeout=5).close()


def changed(sender, instance, using, **_):
    # The tags of now: in a deletion the object loses its key before the commit.
    tags = tags_of(instance, sender)

    # Django logs the name of what failed, which a `functools.partial` does not have.
    def purge_page():
        purge(tags)

    # Not before others can see the change, or Larder would fetch the old page once more. An object is saved although Larder
    # is down: `robust` logs that.
    transaction.on_commit(purge_page, using=using, robust=True)


class LarderConfig(AppConfig):
    name = "larder"

    def ready(self):
        for label in settings.LARDER_MODELS:
            model = apps.get_model(label)
            post_save.connect(changed, sender=model)
            post_delete.connect(changed, sender=model)
