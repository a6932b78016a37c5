# The whole of Ratchet is one static file; the image is that file, the roots of
# trust for TLS, and a user that is not root.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags=-s -o /ratchet ./cmd/ratchet

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /ratchet /ratchet
USER 65532:65532
ENTRYPOINT ["/ratchet"]
CMD ["--help"]
