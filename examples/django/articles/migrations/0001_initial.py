from django.db import migrations, models


def first_articles(apps, schema_editor):
    article = apps.get_model("articles", "Article")
    for title in ["Bread", "Butter", "Salt"]:
        article.objects.create(slug=title.lower(), title=title, text=f"All about {title.lower()}.")


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel(
            name="Article",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("slug", models.SlugField(unique=True)),
                ("title", models.CharField(max_length=200)),
                ("text", models.TextField()),
            ],
            options={"ordering": ["slug"]},
        ),
        migrations.RunPython(first_articles, migrations.RunPython.noop),
    ]
