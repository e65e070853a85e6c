# syntax=docker/dockerfile:1
#
# The images of this repository:
#
#   docker build -t pillion .                      the broker and the connector, one binary
#   docker build -t pillion-saga --target saga .   the example's services; the argument names one
#
# Ports of `pillion`: what its listeners are told, 9092 by custom, and 9180 for its page, /metrics, /healthz and /readyz.
# What a Kafka client is told to connect to is the address after `=`: --listener INTERNAL://0.0.0.0:9092=pillion:9092
# Volume of `pillion`: /var/lib/pillion, its data directory. Without it the topics end with the container.
# Both run as user 10001, write nowhere else but to /tmp, and end cleanly on SIGTERM. They hold the programs, the
# libraries those are linked to and the authorities of the web; no shell.

FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
# The caches keep the registry and what is compiled from one build to the next; the binaries are copied out of them.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked --package pillion --package pillion-saga \
 && mkdir -p /image/data && bash deploy/image-root.sh /image/pillion target/release/pillion \
 && bash deploy/image-root.sh /image/saga target/release/shop

FROM scratch AS saga
COPY --from=build /image/saga/ /
USER 10001:10001
EXPOSE 8080
ENTRYPOINT ["shop"]

FROM scratch AS pillion
COPY --from=build /image/pillion/ /
# Not a part of the above: a folder that COPY makes itself belongs to whom it is told.
COPY --from=build --chown=10001:10001 /image/data /var/lib/pillion
USER 10001:10001
EXPOSE 9092 9180
VOLUME /var/lib/pillion
ENTRYPOINT ["pillion"]
CMD ["--help"]
