package telemetry

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// exporter sends spans to a collector, as OTLP over HTTP wants them
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp). OpenTelemetry's own exporter
// does the same and brings gRPC with it: docs/decisions/0018.
type exporter struct {
	address string
	header  http.Header
	gzip    bool
	client  *http.Client
}

// The longest wait for a collector's answer unless the environment says another one,
// the first pause before spans are sent again, and how much of an answer is read.
const (
	collectorTimeout = 10 * time.Second
	collectorPause   = time.Second
	collectorBytes   = 64 << 10
)

// newExporter reads the variables of
// https://opentelemetry.io/docs/specs/otel/protocol/exporter/. One it cannot obey is an
// error: spans that go elsewhere than the operator believes are lost silently.
//
// Without an endpoint there is no exporter, and other variables are ignored.
func newExporter() (*exporter, error) {
	address, err := collectorAddress()
	if err != nil || address == "" {
		return nil, err
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if setting(name) != "" {
			return nil,
				fmt.Errorf("OTEL_EXPORTER_OTLP_%s is not supported; the system's certificates, and "+
					"SSL_CERT_FILE, are", name)
		}
	}
	if protocol := setting("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: traces are sent as http/protobuf, not as %q", protocol)
	}
	compression := setting("COMPRESSION")
	if compression != "" && compression != "gzip" && compression != "none" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION: %q is neither gzip nor none", compression)
	}
	header, err := collectorHeader(setting("HEADERS"))
	if err != nil {
		return nil, err
	}
	timeout := collectorTimeout
	if text := setting("TIMEOUT"); text != "" {
		ms, err := strconv.Atoi(text)
		if err != nil || ms <= 0 {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT: %q is not a number of milliseconds", text)
		}
		timeout = time.Duration(ms) * time.Millisecond
	}
	return &exporter{
		address: address,
		header:  header,
		gzip:    compression == "gzip",
		client:  &http.Client{Timeout: timeout},
	}, nil
}

// setting is a variable of OTLP's exporters; what is said for traces alone goes first.
func setting(name string) string {
	if value := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
		return value
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_" + name)
}

// collectorAddress is where spans go, "" for nowhere. An endpoint for traces is meant as it
// is, one for everything is where the signals' paths begin.
func collectorAddress() (string, error) {
	address, path := os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), ""
	if address == "" {
		address, path = os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT"), "v1/traces"
	}
	if address == "" {
		return "", nil
	}
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return "", errors.New("OTEL_EXPORTER_OTLP_ENDPOINT, or that of traces, is not an address that begins with " +
			"http:// or https://")
	}
	return at.JoinPath(path).String(), nil
}

// collectorHeader reads key=value,key=value, whose values are escaped as in a URL. They
// may be secrets, and are not in the error.
func collectorHeader(text string) (http.Header, error) {
	header := http.Header{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not written as key=value,key=value")
		}
		header.Set(name, value)
	}
	return header, nil
}

// ExportSpans sends spans until a collector takes them, says that it never will, or
// the context ends; the caller gives each batch half a minute. Spans that
// are not taken are lost: traces are no audit trail.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	if len(spans) == 0 {
		return nil
	}
	body, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: resourceSpans(spans)})
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	if e.gzip {
		body = zipped(body)
	}
	for pause := collectorPause; ; pause *= 2 {
		again, err := e.send(ctx, body)
		if err == nil || again < 0 {
			return err
		}
		// Not all processes at the same moment.
		select {
		case <-ctx.Done():
			return err
		case <-time.After(max(again, pause/2+rand.N(pause))): //nolint:gosec // spreads retries
		}
	}
}

// send sends once. A negative pause says that sending again is useless; otherwise
// it is how long the collector wants to be left alone at least.
func (e *exporter) send(ctx context.Context, body []byte) (again time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	request.Header = e.header.Clone()
	request.Header.Set("Content-Type", "application/x-protobuf")
	if e.gzip {
		request.Header.Set("Content-Encoding", "gzip")
	}
	response, err := e.client.Do(request)
	if err != nil {
		return 0, fmt.Errorf("send spans: %w", err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, collectorBytes))
	if err != nil {
		return 0, fmt.Errorf("send spans: %w", err)
	}
	if response.StatusCode/100 == 2 {
		return -1, refused(answer)
	}
	err = fmt.Errorf("send spans: the collector answered %s", response.Status)
	transient := []int{http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout}
	if !slices.Contains(transient, response.StatusCode) {
		return -1, err
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After")) // a date, or nothing, is no wish
	return time.Duration(max(seconds, 0)) * time.Second, err
}

// refused is what a collector says that took some of the spans only.
func refused(answer []byte) error {
	var said collector.ExportTraceServiceResponse
	if proto.Unmarshal(answer, &said) != nil || said.GetPartialSuccess().GetRejectedSpans() == 0 {
		return nil
	}
	return fmt.Errorf("send spans: the collector refused %d: %s", said.GetPartialSuccess().GetRejectedSpans(),
		said.GetPartialSuccess().GetErrorMessage())
}

func zipped(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(body) // memory takes everything
	_ = w.Close()
	return out.Bytes()
}

// Shutdown has nothing to wait for: what is being sent is waited for by who sends it.
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}
