"""The article's API: `/` may be kept in Redis by Flask-Caching, `/getapi2` asks the other API, directly or through a cache."""

import os

import requests
from flask import Flask
from flask_caching import Cache

NAME = os.environ.get("NAME", "api1")
API2_URL = os.environ.get("API2_URL", "")

APP = Flask(__name__)
APP.config.update(
    CACHE_TYPE="RedisCache" if "REDIS_PORT" in os.environ else "NullCache",
    CACHE_NO_NULL_WARNING=True,
    CACHE_REDIS_HOST="127.0.0.1",
    CACHE_REDIS_PORT=int(os.environ.get("REDIS_PORT", 0)),
    CACHE_DEFAULT_TIMEOUT=60,
)
CACHE = Cache(APP)


@APP.route("/")
@CACHE.cached()
def root():
    """What is kept for 60 seconds."""
    return NAME


@APP.route("/getapi2")
def getapi2():
    """What the other API says; as in the article, on a new connection each time."""
    return requests.get(API2_URL, timeout=10).text
