# Two images with the extension, for Docker, BuildKit, Podman and Buildah:
#
#   docker build -t pg_simhash .                           PostgreSQL's official image, with the extension installed
#   docker build -t pg_simhash-volume --target volume .    only the extension's files, for image volumes of CloudNativePG
#
# Arguments:
#
#   PG_MAJOR=19       the major version of PostgreSQL
#   DEBIAN=trixie     the Debian release of both images below
#   POSTGRES_IMAGE    the image with PostgreSQL: any that has Debian's or PGDG's packages
#   RUST_IMAGE        the image with Rust, in /usr/local/rustup and /usr/local/cargo
ARG PG_MAJOR=19
ARG DEBIAN=trixie
ARG POSTGRES_IMAGE=docker.io/library/postgres:$PG_MAJOR-$DEBIAN
ARG RUST_IMAGE=docker.io/library/rust:1.96-slim-$DEBIAN

FROM $RUST_IMAGE AS rust

# The library is compiled beside the PostgreSQL and the glibc that load it.
FROM $POSTGRES_IMAGE AS build
ARG PG_MAJOR
USER root
ENV CARGO_HOME=/usr/local/cargo \
    RUSTUP_HOME=/usr/local/rustup \
    PATH=/usr/local/cargo/bin:$PATH \
    PG_CONFIG=/usr/lib/postgresql/$PG_MAJOR/bin/pg_config
COPY --from=rust $RUSTUP_HOME $RUSTUP_HOME
COPY --from=rust $CARGO_HOME $CARGO_HOME
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates gcc libc6-dev postgresql-server-dev-$PG_MAJOR
WORKDIR /pg_simhash
COPY . .
RUN tools/package volume

FROM scratch AS volume
LABEL org.opencontainers.image.title="pg_simhash" \
    org.opencontainers.image.description="Near-duplicate text search for PostgreSQL, as an image volume" \
    org.opencontainers.image.licenses="PostgreSQL"
COPY --from=build /pg_simhash/target/volume /
USER 65532:65532

FROM $POSTGRES_IMAGE
ARG PG_MAJOR
LABEL org.opencontainers.image.title="pg_simhash" \
    org.opencontainers.image.description="PostgreSQL with near-duplicate text search" \
    org.opencontainers.image.licenses="PostgreSQL"
COPY --from=volume /licenses/pg_simhash /usr/share/doc/pg_simhash
COPY --from=volume /lib /usr/lib/postgresql/$PG_MAJOR/lib
COPY --from=volume /share/extension /usr/share/postgresql/$PG_MAJOR/extension
