from articles import views
from django.urls import path

urlpatterns = [
    path("", views.index),
    path("articles/<slug:slug>", views.article),
    path("requests", views.requests),
]
