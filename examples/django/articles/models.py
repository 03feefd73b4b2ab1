from django.db import models


class Article(models.Model):
    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=200)
    text = models.TextField()

    class Meta:
        ordering = ["slug"]
