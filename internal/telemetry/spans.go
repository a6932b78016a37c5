package telemetry

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	wire "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// resourceSpans are spans as OTLP writes them. A process has one resource, and its
// spans come from few scopes.
func resourceSpans(spans []sdk.ReadOnlySpan) []*wire.ResourceSpans {
	described := spans[0].Resource()
	all := &wire.ResourceSpans{
		Resource:  &resource.Resource{Attributes: attributes(described.Attributes())},
		SchemaUrl: described.SchemaURL(),
	}
	scopes := map[instrumentation.Scope]*wire.ScopeSpans{}
	for _, span := range spans {
		scope := span.InstrumentationScope()
		in := scopes[scope]
		if in == nil {
			in = &wire.ScopeSpans{SchemaUrl: scope.SchemaURL, Scope: &common.InstrumentationScope{
				Name: scope.Name, Version: scope.Version, Attributes: attributes(scope.Attributes.ToSlice())}}
			scopes[scope], all.ScopeSpans = in, append(all.ScopeSpans, in)
		}
		in.Spans = append(in.Spans, spanOf(span))
	}
	return []*wire.ResourceSpans{all}
}

func spanOf(s sdk.ReadOnlySpan) *wire.Span {
	own, parent := s.SpanContext(), s.Parent()
	traceID, spanID, parentID := own.TraceID(), own.SpanID(), parent.SpanID()
	span := &wire.Span{
		TraceId: traceID[:], SpanId: spanID[:], TraceState: own.TraceState().String(), Flags: flags(own, parent),
		Name: s.Name(), Kind: kinds[s.SpanKind()],
		StartTimeUnixNano: nanoseconds(s.StartTime()), EndTimeUnixNano: nanoseconds(s.EndTime()),
		Attributes: attributes(s.Attributes()), DroppedAttributesCount: uint32(s.DroppedAttributes()),
		DroppedEventsCount: uint32(s.DroppedEvents()), DroppedLinksCount: uint32(s.DroppedLinks()),
		Status: &wire.Status{Code: statuses[s.Status().Code], Message: s.Status().Description},
	}
	if parentID.IsValid() {
		span.ParentSpanId = parentID[:]
	}
	for _, e := range s.Events() {
		span.Events = append(span.Events, &wire.Span_Event{Name: e.Name, TimeUnixNano: nanoseconds(e.Time),
			Attributes: attributes(e.Attributes), DroppedAttributesCount: uint32(e.DroppedAttributeCount)})
	}
	for _, l := range s.Links() {
		traceID, spanID := l.SpanContext.TraceID(), l.SpanContext.SpanID()
		span.Links = append(span.Links, &wire.Span_Link{
			TraceId:                traceID[:],
			SpanId:                 spanID[:],
			Flags:                  flags(l.SpanContext, l.SpanContext),
			Attributes:             attributes(l.Attributes),
			DroppedAttributesCount: uint32(l.DroppedAttributeCount),
		})
	}
	return span
}

// flags are those of a trace, and whether who came before is in another process.
func flags(own, before trace.SpanContext) uint32 {
	f := uint32(own.TraceFlags()) | uint32(wire.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK)
	if before.IsRemote() {
		f |= uint32(wire.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	return f
}

var kinds = map[trace.SpanKind]wire.Span_SpanKind{
	trace.SpanKindInternal: wire.Span_SPAN_KIND_INTERNAL,
	trace.SpanKindServer:   wire.Span_SPAN_KIND_SERVER,
	trace.SpanKindClient:   wire.Span_SPAN_KIND_CLIENT,
	trace.SpanKindProducer: wire.Span_SPAN_KIND_PRODUCER,
	trace.SpanKindConsumer: wire.Span_SPAN_KIND_CONSUMER,
}

var statuses = map[codes.Code]wire.Status_StatusCode{
	codes.Ok:    wire.Status_STATUS_CODE_OK,
	codes.Error: wire.Status_STATUS_CODE_ERROR,
}

func nanoseconds(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

func attributes(of []attribute.KeyValue) (out []*common.KeyValue) {
	for _, kv := range of {
		out = append(out, &common.KeyValue{Key: string(kv.Key), Value: value(kv.Value)})
	}
	return out
}

// value is an attribute's. Of the kinds that we do not use, lists and bytes, the
// collector gets the text.
func value(v attribute.Value) *common.AnyValue {
	switch v.Type() {
	case attribute.BOOL:
		return &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: v.AsBool()}}
	case attribute.INT64:
		return &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: v.AsInt64()}}
	case attribute.FLOAT64:
		return &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: v.AsFloat64()}}
	default:
		return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v.String()}}
	}
}
