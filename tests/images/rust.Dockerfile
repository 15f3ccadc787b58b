# Stands for Rust's official image. It is built from the folder of a toolchain, which needs no rustup.
FROM scratch
WORKDIR /usr/local/rustup
COPY bin /usr/local/cargo/bin
COPY lib /usr/local/cargo/lib
