package supervisor

import (
	"errors"
	"net/http/httptest"
	"testing"
	"time"
)

func TestHandler(t *testing.T) {
	t.Parallel()
	killed := make(chan string, 1)
	server := httptest.NewServer(Handler("the secret", func(process string) func() {
		if process != Worker {
			return nil
		}
		return func() { killed <- process }
	}))
	defer server.Close()

	client := func(secret string) *Client { return &Client{url: server.URL, secret: secret} }
	if err := client("another").Kill(t.Context(), Worker); err == nil {
		t.Error("a client without the secret may kill")
	}
	if err := client("the secret").Kill(t.Context(), "1"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a process that is not the demo's: %v, want ErrNotFound", err)
	}
	if err := client("the secret").Kill(t.Context(), Worker); err != nil {
		t.Fatal(err)
	}
	select {
	case <-killed:
	case <-time.After(time.Minute):
		t.Error("it was not killed")
	}
	select {
	case <-killed:
		t.Error("it was killed without the secret")
	default:
	}
}

func TestWithoutADemoThereIsNoSupervisor(t *testing.T) {
	t.Setenv(URLVariable, "http://127.0.0.1:1")
	t.Setenv(SecretVariable, "")
	if FromEnvironment() != nil {
		t.Error("an address without a secret makes a client")
	}
}
