from itertools import count

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.cache import cache_control, never_cache
from larder import shows

from articles.models import Article

# Larder may keep a page for a day, since it is told when it changes; browsers ask each time.
kept = cache_control(max_age=0, s_maxage=86400, stale_if_error=86400)


@kept
def index(request):
    shows(request, Article)
    return render(request, "articles/index.html", {"articles": Article.objects.all()})


@kept
def article(request, slug):
    article = get_object_or_404(Article, slug=slug)
    shows(request, article)
    return render(request, "articles/article.html", {"article": article})


# What the gain is measured by: requests that reached Django.
arrived = count(1)
seen = {"requests": 0}


def count_requests(get_response):
    def counted(request):
        if request.path != "/requests":
            seen["requests"] = next(arrived)
        return get_response(request)

    return counted


@never_cache
def requests(request):
    return HttpResponse(seen["requests"], content_type="text/plain")
