"""An API whose answers Flask-Caching keeps in Redis, and Larder before it, so that most requests never reach Python."""

import json
import os
import time
import urllib.request
from itertools import count

from flask import Flask, Response, abort, jsonify, request
from flask_caching import Cache

LARDER_ADMIN = os.environ.get("LARDER_ADMIN", "http://127.0.0.1:9180")

app = Flask(__name__)
app.config["CACHE_TYPE"] = "RedisCache"
app.config["CACHE_REDIS_URL"] = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0")
app.config["CACHE_DEFAULT_TIMEOUT"] = 3600
cache = Cache(app)

articles = {1: "Bread", 2: "Butter", 3: "Salt"}

# What the gain is measured by: requests that reached Flask, and answers that were computed and not taken from Redis.
made = {"requests": 0, "answers": 0}
requests, answers = count(1), count(1)


def compute() -> None:
    """What an answer costs: the database."""
    made["answers"] = next(answers)
    time.sleep(0.05)


def shared(response: Response, *tags: str) -> Response:
    """Larder may keep this for an hour, browsers ask each time; it ends sooner when one of its tags is purged."""
    response.headers["Cache-Control"] = "max-age=0, s-maxage=3600, stale-if-error=86400"
    response.headers["Cache-Tag"] = ",".join(tags)
    return response


def purge(*tags: str) -> None:
    """Tells Larder that something has changed. When this returns, nobody gets the old answers any more."""
    content = json.dumps({"tags": tags}).encode()
    headers = {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(LARDER_ADMIN + "/purge", content, headers), timeout=5).close()


# A page that is plain text, which Larder can take from Redis by itself (page-store.toml).
@app.get("/")
@cache.cached()
def home():
    compute()
    return '<!DOCTYPE html><title>Pantry</title><p>See <a href="/articles">the articles</a>.'


@app.get("/articles")
@cache.cached()
def article_list():
    compute()
    return shared(jsonify(articles), "articles")


@app.get("/articles/<int:number>")
@cache.cached()
def article(number: int):
    compute()
    if number not in articles:
        abort(404)
    return shared(jsonify(articles[number]), f"article-{number}")


@app.put("/articles/<int:number>")
def save(number: int):
    articles[number] = request.get_json()["title"]
    # Redis first: as soon as Larder has forgotten the old answer it asks again, and must not get it from there.
    cache.delete_many("view//articles", f"view//articles/{number}")
    purge("articles", f"article-{number}")
    return "", 204


@app.before_request
def count_request():
    if request.path != "/counts":
        made["requests"] = next(requests)


@app.get("/counts")
def counts():
    return made, {"Cache-Control": "no-store"}
