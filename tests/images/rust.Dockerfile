# Stands for Rust's official image. It is built from the folder of a toolchain, which needs no rustup. The build context
# "programs" has cargo-pgrx, which takes minutes to compile.
FROM scratch
WORKDIR /usr/local/rustup
COPY bin /usr/local/cargo/bin
COPY lib /usr/local/cargo/lib
COPY --from=programs cargo-pgrx /usr/local/cargo/bin/cargo-pgrx
