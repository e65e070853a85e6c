# syntax=docker/dockerfile:1
#
# The images of this repository:
#
#   docker build -t pillion .                      the broker and the connector, one binary
#   docker build -t pillion-saga --target saga .   the example's services: order, payment, inventory
#
# Ports of `pillion`: what its listeners are told, 9092 by custom. What a client is told to connect to is the address
# after `=`: --listener INTERNAL://0.0.0.0:9092=pillion:9092
# Volume of `pillion`: /var/lib/pillion, its data directory. Without it the topics end with the container.
# Both run as user 10001, write nowhere else, and end cleanly on SIGTERM.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The caches keep the registry and what is compiled from one build to the next; the binaries are copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked --package pillion --package pillion-saga \
 && install -D -t /out/pillion target/release/pillion \
 && install -D -t /out/saga target/release/order target/release/payment target/release/inventory

FROM debian:bookworm-slim AS base
RUN groupadd --gid 10001 pillion \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin pillion \
 && install -d -o pillion -g pillion /var/lib/pillion

FROM base AS saga
COPY --from=build /out/saga/ /usr/local/bin/
USER 10001:10001
EXPOSE 8080
CMD ["order"]

FROM base AS pillion
COPY --from=build /out/pillion/ /usr/local/bin/
USER 10001:10001
EXPOSE 9092
VOLUME /var/lib/pillion
ENTRYPOINT ["pillion"]
CMD ["--help"]
