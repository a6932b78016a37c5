package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// scope is whose spans these are.
const scope = "github.com/ratchet-pay/ratchet"

// Tracing returns what makes the spans of a process, and what sends the last of
// them at its end. Where spans go is said by OpenTelemetry's own variables
// (OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES and
// so on); without an endpoint there are none, and asking for one costs nothing.
func Tracing(ctx context.Context, process string) (trace.Tracer, func(context.Context) error, error) {
	exporter, err := newExporter()
	switch {
	case err != nil:
		return nil, nil, err
	case exporter == nil:
		return noop.NewTracerProvider().Tracer(scope), func(context.Context) error { return nil }, nil
	}
	// What the environment says of us comes last, and wins.
	described, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "ratchet "+process)),
		resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nil, fmt.Errorf("describe this process to traces: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(described))
	return provider.Tracer(scope), provider.Shutdown, nil
}
