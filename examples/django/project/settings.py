import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = os.environ.get("SECRET_KEY", "for this example only")
DEBUG = False
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
ROOT_URLCONF = "project.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("DATABASE", BASE_DIR / "db.sqlite3"),
    }
}
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
INSTALLED_APPS = ["articles"]
MIDDLEWARE = ["articles.views.count_requests", "django.middleware.common.CommonMiddleware"]

# All that Larder needs: pages carry the tags of what they show, and what is saved or deleted is purged.
INSTALLED_APPS += ["larder"]
MIDDLEWARE += ["larder.TagMiddleware"]
LARDER_ADMIN = os.environ.get("LARDER_ADMIN", "http://127.0.0.1:9180")
LARDER_MODELS = ["articles.Article"]
