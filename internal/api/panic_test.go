package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/ratchet-pay/ratchet/internal/apitest"
	"github.com/ratchet-pay/ratchet/internal/phase"
	"github.com/ratchet-pay/ratchet/internal/telemetry"
)

func TestAHandlerThatPanicsAnswers500AndTellsOnlyTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	// A server without keys: to look one up panics.
	s := &Server{
		log:       slog.New(slog.NewTextHandler(&log, nil)),
		limits:    DefaultLimits(),
		telemetry: telemetry.New(noop.NewTracerProvider().Tracer("")),
	}
	e := echo.New()
	e.GET("/v1/account", s.handler(route{
		method: http.MethodGet,
		path:   "/v1/account",
		answer: func(context.Context, *Server, *request) (phase.Response, []byte, error) {
			return phase.Response{}, nil, nil
		},
	}))
	request := httptest.NewRequest(http.MethodGet, "/v1/account", nil)
	request.Header.Set("Authorization", "Bearer sk_test_x")
	answer := httptest.NewRecorder()
	e.ServeHTTP(answer, request)

	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), `"api_error"`) {
		t.Errorf("answered %d %s", answer.Code, answer.Body)
	}
	for _, v := range apitest.Check(apitest.Response{
		Method: http.MethodGet,
		Path:   "/v1/account",
		Status: answer.Code,
		Header: answer.Header(),
		Body:   answer.Body.Bytes(),
	}) {
		t.Error(v)
	}
	if strings.Contains(answer.Body.String(), "nil pointer") {
		t.Errorf("the answer tells of our insides: %s", answer.Body)
	}
	if !strings.Contains(log.String(), "nil pointer") ||
		!strings.Contains(log.String(), answer.Header().Get("Request-Id")) {
		t.Errorf("the log does not tell what happened to which request: %s", log.String())
	}
}
