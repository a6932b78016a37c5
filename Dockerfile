# Ratchet is one static file. The image contains that file, the certificates of the public authorities, and a
# user that is not root.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# The caches make the next build of a change take seconds.
RUN --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /ratchet ./cmd/ratchet

FROM scratch
LABEL org.opencontainers.image.title="Ratchet" \
      org.opencontainers.image.description="A Stripe-compatible payments API that charges a card exactly once" \
      org.opencontainers.image.licenses="MIT"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /ratchet /ratchet
USER 65532:65532
ENTRYPOINT ["/ratchet"]
CMD ["--help"]
