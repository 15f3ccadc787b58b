"""The admin, with the articles of the page."""

from articles.models import Article
from django.contrib import admin
from django.urls import path

admin.site.register(Article)
urlpatterns = [path("admin/", admin.site.urls)]
