# Stands for PostgreSQL's official image. It is built from the folder of a small Debian (see tools/debian-root).
FROM scratch
ARG PG_MAJOR
COPY . /
RUN apt-get update && apt-get install -y --no-install-recommends postgresql-$PG_MAJOR && rm -rf /var/lib/apt/lists/*
