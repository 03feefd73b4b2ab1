"""A Django site of one page, `/test/`: a list of articles from a template, as a blog's front page."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.template import engines
from django.urls import path

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="for the laboratory alone",
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)

PAGE = """<!doctype html><html><head><title>Blog</title></head><body>
{% for article in articles %}<article><h2>{{ article.title }}</h2><p>{{ article.text }}</p></article>
{% endfor %}</body></html>"""
ARTICLES = [{"title": f"Article {number}", "text": f"What is said in article {number}. " * 12} for number in range(20)]


def test(_request):
    """The page. It may be kept for an hour."""
    page = engines["django"].from_string(PAGE).render({"articles": ARTICLES})
    return HttpResponse(page, headers={"Cache-Control": "public, max-age=3600"})


urlpatterns = [path("test/", test)]
application = get_wsgi_application()
