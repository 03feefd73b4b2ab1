"""Tags pages by what they show, so that Larder can end them when that changes. Copy this folder into your project."""


def tags_of(*shown):
    """The tags of model instances, and of model classes: a page that lists all articles shows the class."""
    return {
        f"{each._meta.label_lower}-all" if isinstance(each, type) else f"{each._meta.label_lower}-{each.pk}"
        for each in shown
    }


def shows(request, *shown):
    """Notes in a view what its page is made of: `shows(request, article)`, `shows(request, Article)`."""
    request.larder_tags = getattr(request, "larder_tags", set()) | tags_of(*shown)


class TagMiddleware:
    """Sends the tags of what a page shows. Larder reads the field, and keeps it to itself."""

    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        response = self.get_response(request)
        if tags := getattr(request, "larder_tags", None):
            response["Cache-Tag"] = ",".join(sorted(tags))
        return response
